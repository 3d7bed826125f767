package protocol

// File is a version of a file of a room: the files of one name, posted there, are its versions.
type File struct {
	Name         string `json:"name"`
	Version      int    `json:"version"`
	AttachmentID string `json:"attachment_id"`
	SHA256       string `json:"sha256"`
	ByteSize     int64  `json:"byte_size"`
	MimeType     string `json:"mime_type"`
	// By is who posted it, and At when.
	By Participant `json:"by"`
	At Time        `json:"at"`
	// URL fetches the bytes until URLExpiresAt; filled in as it is handed over.
	URL          string `json:"url,omitzero"`
	URLExpiresAt *Time  `json:"url_expires_at,omitzero"`
}
