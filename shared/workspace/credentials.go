package workspace

import "github.com/chipschat/chips-aws/shared/protocol"

// Credentials are in no log, so making one and taking one back is no command; who may is a rule all the same.

// MayKeepTokens refuses all but those who may make and take back a harness's tokens: its owner, an owner or an admin.
func MayKeepTokens(s *State, by Caller, harness string) *protocol.Error {
	d := &deciding{s: s, c: Command{By: by, Operation: true}}
	return d.needOwnerOf(harness)
}

// MayPair refuses all but those who may register devices for a person and take them back: themselves, an owner or an admin. An owner's
// only another owner, since a device of an owner's makes an owner.
func MayPair(s *State, by Caller, person string) *protocol.Error {
	d := &deciding{s: s, c: Command{By: by, Operation: true}}
	p, asks := s.Person(person), d.person()
	switch {
	case asks == nil || asks.ID != person && !asks.runsThings():
		return forbidden("only the person, an owner or an admin may do this")
	case p == nil:
		return notFound("no such person")
	case p.Role == protocol.Owner && asks.Role != protocol.Owner:
		return forbidden("only an owner may do this for an owner")
	}
	return nil
}
