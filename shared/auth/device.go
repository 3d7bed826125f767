package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// DeviceKind is what a device is.
type DeviceKind string

// The kinds of device.
const (
	Phone    DeviceKind = "phone"
	Computer DeviceKind = "computer"
)

// Device is a person's phone or computer, known by its key.
type Device struct {
	ID        string
	Workspace string
	PersonID  string
	Kind      DeviceKind
	Name      string
	// TimeZone is an IANA name, "" for none.
	TimeZone   string
	Registered protocol.Time
}

// Pairing is what a device says of itself when it is paired.
type Pairing struct {
	// Code is a pairing code as the person typed it.
	Code string
	// PublicKey is the base64url of an Ed25519 key's 32 bytes.
	PublicKey string
	Kind      DeviceKind
	// Name may be "".
	Name string
	// TimeZone is taken if it is exactly an IANA name, and else there is none.
	TimeZone string
}

// PairDevice registers a device for the person whose code it brings. Errors are *protocol.Error: invalid_request for a field, which leaves
// the code unspent; unauthorized for a code that is unknown, spent or past its time; not_found for a person removed meanwhile.
func (s *Service) PairDevice(ctx context.Context, p Pairing) (Device, error) {
	key, err := base64.RawURLEncoding.Strict().DecodeString(strings.TrimRight(p.PublicKey, "="))
	if err != nil || len(key) != 32 {
		return Device{}, protocol.Refuse(protocol.InvalidRequest, "public_key: want the base64url of an Ed25519 key's 32 bytes")
	}
	if p.Kind != Phone && p.Kind != Computer {
		return Device{}, protocol.Refuse(protocol.InvalidRequest, `kind: want "phone" or "computer"`)
	}
	if p.Name != "" {
		var bad *protocol.Error
		if p.Name, bad = workspace.CleanName("name", p.Name, workspace.MaxName); bad != nil {
			return Device{}, bad
		}
	}
	code, ok := readCode(p.Code)
	if !ok {
		return Device{}, refused("pairing_code: want the %d letters and digits of a code", codeLen)
	}
	o, err := s.spend(ctx, codePK(code))
	if errors.Is(err, errSpent) {
		return Device{}, refused("pairing_code: unknown, used already, or past its ten minutes")
	}
	if err != nil {
		return Device{}, fmt.Errorf("spend pairing code: %w", err)
	}
	c := credential{
		ID: s.newID(protocol.PrefixDevice), Workspace: o.Workspace, Kind: protocol.KindPerson, Holder: o.Person, Issued: protocol.At(s.now()),
		PublicKey: key, DeviceKind: p.Kind, Name: p.Name, TimeZone: zone(p.TimeZone),
	}
	if err := s.issue(ctx, c); err != nil {
		return Device{}, err
	}
	return c.device(), nil
}

func (c credential) device() Device {
	return Device{
		ID: c.ID, Workspace: c.Workspace, PersonID: c.Holder, Kind: c.DeviceKind, Name: c.Name, TimeZone: c.TimeZone, Registered: c.Issued,
	}
}

// Device answers a device of a workspace; not_found when there is none of that id.
func (s *Service) Device(ctx context.Context, workspace, id string) (Device, error) {
	c, _, err := s.readDevice(ctx, workspace, id)
	return c.device(), err
}

func (s *Service) readDevice(ctx context.Context, workspace, id string) (credential, int64, error) {
	unknown := protocol.Refuse(protocol.NotFound, "no such device")
	if !protocol.ValidID(protocol.PrefixDevice, id) {
		return credential{}, 0, unknown
	}
	c, rev, err := s.read(ctx, id)
	if errors.Is(err, errGone) || err == nil && c.Workspace != workspace {
		return credential{}, 0, unknown
	}
	return c, rev, err
}

// SetTimeZone gives a device another time zone, or none when zone is not exactly an IANA name; not_found when there is no such device.
func (s *Service) SetTimeZone(ctx context.Context, workspace, id, name string) (Device, error) {
	for {
		c, rev, err := s.readDevice(ctx, workspace, id)
		if err != nil {
			return Device{}, err
		}
		c.TimeZone = zone(name)
		// Only the row that was read is replaced: a device taken back meanwhile is not to come back.
		err = s.write(ctx, c, engine.IfRev(rev))
		if errors.Is(err, engine.ErrCondition) {
			continue
		}
		return c.device(), err
	}
}

// RevokeDevice takes a device back at once and answers what it was; not_found when there is none of that id. Its sockets are the
// caller's to close.
func (s *Service) RevokeDevice(ctx context.Context, workspace, id string) (Device, error) {
	c, _, err := s.readDevice(ctx, workspace, id)
	if err != nil {
		return Device{}, err
	}
	return c.device(), s.revoke(ctx, workspace, c.Holder, id)
}

// Devices answers the devices of a person, first registered first.
func (s *Service) Devices(ctx context.Context, workspace, person string) ([]Device, error) {
	held, err := s.standingOf(ctx, workspace, person, protocol.PrefixDevice)
	if err != nil {
		return nil, err
	}
	devices := make([]Device, len(held))
	for i, c := range held {
		devices[i] = c.device()
	}
	return devices, nil
}

// PhoneZone is the time zone of the phone that a person registered last, "" when that has none or there is no phone: what
// person.updated is to say after a device was paired, changed or taken back.
func (s *Service) PhoneZone(ctx context.Context, workspace, person string) (string, error) {
	devices, err := s.Devices(ctx, workspace, person)
	if err != nil {
		return "", err
	}
	z := ""
	for _, d := range devices {
		if d.Kind == Phone {
			z = d.TimeZone
		}
	}
	return z, nil
}
