package auth

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// credential is a row of something that a person or a harness can act by.
type credential struct {
	ID        string             `json:"-"`
	Workspace string             `json:"workspace"`
	Kind      protocol.ActorKind `json:"kind"`
	Holder    string             `json:"holder"`
	Issued    protocol.Time      `json:"issued"`
	// Hash is the SHA-256 of a bearer secret; nil for a device.
	Hash []byte `json:"hash,omitzero"`
	// The rest is a device's.
	PublicKey  []byte     `json:"public_key,omitzero"`
	DeviceKind DeviceKind `json:"device_kind,omitzero"`
	Name       string     `json:"name,omitzero"`
	TimeZone   string     `json:"time_zone,omitzero"`
}

// errGone says that a credential does not stand: there is none of that id.
var errGone = errors.New("no such credential")

const (
	// only is the sort key where a partition has one row.
	only = "-"
	// removed is the sort key of the mark on a holder who is gone; it sorts before all credentials.
	removed = "!removed"
	// page is how many rows of a holder are read at once.
	page = 100
)

func credentialPK(id string) string            { return "A#" + id }
func holderPK(workspace, holder string) string { return "H#" + workspace + "#" + holder }

func (c credential) caller() workspace.Caller {
	return workspace.Caller{Workspace: c.Workspace, Kind: c.Kind, ID: c.Holder, Credential: c.ID}
}

// Stands says whose a credential is; false when it was taken back or never was. It is one read.
// Whoever keeps something open for a caller (a connection's row) asks it after having written that down: what was taken back
// before is found here, what is taken back later finds what was written.
func (s *Service) Stands(ctx context.Context, id string) (workspace.Caller, bool, error) {
	c, err := s.standing(ctx, id)
	if errors.Is(err, errGone) {
		return workspace.Caller{}, false, nil
	}
	return c.caller(), err == nil, err
}

// standing reads a credential that stands, else fails with errGone.
func (s *Service) standing(ctx context.Context, id string) (credential, error) {
	c, _, err := s.read(ctx, id)
	return c, err
}

func (s *Service) read(ctx context.Context, id string) (credential, int64, error) {
	known := protocol.ValidID(protocol.PrefixToken, id) || protocol.ValidID(protocol.PrefixDevice, id) ||
		s.personKeys && protocol.ValidID(prefixKey, id)
	if !known {
		return credential{}, 0, errGone
	}
	row, ok, err := s.rows.Get(ctx, credentialPK(id), only)
	if err != nil {
		return credential{}, 0, fmt.Errorf("read credential %s: %w", id, err)
	}
	if !ok {
		return credential{}, 0, errGone
	}
	c := credential{ID: id}
	if err := json.Unmarshal(row.Body, &c); err != nil {
		return credential{}, 0, fmt.Errorf("decode credential %s: %w", id, err)
	}
	return c, row.Rev, nil
}

// write writes a credential's row.
func (s *Service) write(ctx context.Context, c credential, cond engine.Cond) error {
	body, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode credential %s: %w", c.ID, err)
	}
	if _, err := s.rows.Put(ctx, engine.Row{PK: credentialPK(c.ID), SK: only, Body: body}, cond); err != nil {
		return fmt.Errorf("write credential %s: %w", c.ID, err)
	}
	return nil
}

// issue makes a credential stand, unless its holder was removed, which is not_found.
func (s *Service) issue(ctx context.Context, c credential) error {
	holder := holderPK(c.Workspace, c.Holder)
	if _, err := s.rows.Put(ctx, engine.Row{PK: holder, SK: c.ID, Body: []byte("{}")}, engine.Always); err != nil {
		return fmt.Errorf("list credential %s: %w", c.ID, err)
	}
	if err := s.write(ctx, c, engine.Always); err != nil {
		return err
	}
	_, gone, err := s.rows.Get(ctx, holder, removed)
	if err != nil {
		return fmt.Errorf("look for removal of %s: %w", c.Holder, err)
	}
	if !gone {
		return nil
	}
	if _, err := s.rows.Delete(ctx, credentialPK(c.ID), only, engine.Always); err != nil {
		return fmt.Errorf("withdraw credential %s: %w", c.ID, err)
	}
	return protocol.Refuse(protocol.NotFound, "%s was removed", c.Holder)
}

// revoke takes one credential of a holder back; not_found when the holder has none of that id. The credential goes before the
// holder's row, so that nothing that stands is ever unlisted.
func (s *Service) revoke(ctx context.Context, workspace, holder, id string) error {
	c, err := s.standing(ctx, id)
	switch {
	case errors.Is(err, errGone):
	case err != nil:
		return err
	case c.Workspace != workspace || c.Holder != holder:
		return protocol.Refuse(protocol.NotFound, "%s has no %s", holder, id)
	default:
		if _, err := s.rows.Delete(ctx, credentialPK(id), only, engine.Always); err != nil {
			return fmt.Errorf("take back %s: %w", id, err)
		}
	}
	if _, derr := s.rows.Delete(ctx, holderPK(workspace, holder), id, engine.Always); derr != nil {
		return fmt.Errorf("unlist %s: %w", id, derr)
	}
	if err != nil {
		return protocol.Refuse(protocol.NotFound, "%s has no %s", holder, id)
	}
	return nil
}

// RemoveHolder takes back all that a person or a harness holds, for good: nothing is issued to them afterwards.
// It answers the ids of their credentials, the same each time, so that it can be called again after an error.
func (s *Service) RemoveHolder(ctx context.Context, workspace, holder string) ([]string, error) {
	mark := engine.Row{PK: holderPK(workspace, holder), SK: removed, Body: []byte("{}")}
	if _, err := s.rows.Put(ctx, mark, engine.Always); err != nil {
		return nil, fmt.Errorf("mark %s removed: %w", holder, err)
	}
	ids, err := s.held(ctx, workspace, holder)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, err := s.rows.Delete(ctx, credentialPK(id), only, engine.Always); err != nil {
			return ids, fmt.Errorf("take back %s: %w", id, err)
		}
	}
	return ids, nil
}

// held answers the ids of what a holder was issued, in the order of their issue; some may not stand.
func (s *Service) held(ctx context.Context, workspace, holder string) ([]string, error) {
	var ids []string
	for after := removed; ; {
		rows, err := s.rows.Query(ctx, holderPK(workspace, holder), after, page)
		if err != nil {
			return nil, fmt.Errorf("list credentials of %s: %w", holder, err)
		}
		for _, r := range rows {
			ids = append(ids, r.SK)
			after = r.SK
		}
		if len(rows) < page {
			return ids, nil
		}
	}
}

// standingOf answers the credentials of a holder that stand and whose id has the prefix, in the order of their issue.
func (s *Service) standingOf(ctx context.Context, workspace, holder, prefix string) ([]credential, error) {
	ids, err := s.held(ctx, workspace, holder)
	if err != nil {
		return nil, err
	}
	var list []credential
	for _, id := range ids {
		if protocol.PrefixOf(id) != prefix {
			continue
		}
		c, err := s.standing(ctx, id)
		if errors.Is(err, errGone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}
