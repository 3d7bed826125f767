// Package attachment keeps the files that are uploaded, says who may read them, and makes and checks the URLs they are fetched by. It owns
// the port of the bytes (Blobs, Direct), and the port of who listens to voice notes (Listener).
//
// An upload is taken whole, or, where a request cannot hold it, put to a signed URL and then looked at (Begin, Done). Either way it is
// sniffed, measured and hashed here, and nothing a client says of it counts but its name, which is cleaned.
//
// # Rows
//
//	U#<att id>    -          an upload: whose, what it is, where its bytes are, where it was posted
//	U#<space id>  -          a room that is about to be deleted, or was: how far down its files were looked at
//	B#<sha256>    -          which generation of the bytes is in use
//	B#<sha256>    <att id>   a use of the bytes
//	Y#            keys       what URLs are signed with
//
// # Bytes
//
// Bytes are stored by their sha256, once, and go with their last use. Taking the last use away and storing the same bytes anew may happen
// at once, and no store can delete "unless somebody wants it again". So bytes have generations: whoever stores writes their use, then
// touches the row of the generation, then writes the bytes under the generation's name; whoever takes a use away deletes it, looks whether
// there are others, and ends the generation only if nobody touched it since. Ended is ended: bytes that come after that are the next generation,
// under another name, so a delete that comes late, however late, deletes nothing that is used. Bytes of an ended generation that were not
// deleted as yet are deleted by the sweep, or by whoever begins the next.
//
// # Posts
//
// The rules decide on what was stored (workspace.Command.Uploads); Engine is the engine with that looked up. A row must know where its file
// was posted, and no write covers the row and the log. So the row first says "perhaps posted, under this key", then the post is committed, then
// the row says where. Whoever meets a "perhaps" asks the log for the key (engine.Find). An upload that was never posted is swept
// away after a day; what is posted meanwhile moves that on before it goes into the log.
//
// What is deleted is not served from the moment the log says so, which the state tells (workspace.Room.Marks). Before a message, a room or
// a face goes, its files are noted to be looked at some minutes later, so that a process that dies in between leaves something that is due;
// the sweep then asks the state what of it is still there, and takes away what is not. A room may have had any number of files, so it has a row of its own: the sweep
// goes down the room's lines in the log, notes each file, and writes down how far it came. Each face is looked at a day after it was
// given, too: of two that are given at once only one replaces what either knew of.
//
// # URLs
//
// A URL is signed for one credential, for ten minutes: HMAC-SHA256 over id, exp and tok. The key is in the table, made by whoever needs
// it first and changed every thirty days, with the one before still taken. It is worth no more than the table it is in, since each fetch asks anew
// whether the credential stands and its holder may read the file. A secret of its own would have to be made by hand before the first
// deploy and let into four functions.
//
// # Turned down
//
// Counting uses: a count that is changed twice, or not, after a crash is wrong for ever. A row for each room a file was posted in: a fetch would
// read them all. Keeping in the state which files were posted: it would grow with each.
package attachment
