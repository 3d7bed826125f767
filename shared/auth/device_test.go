package auth

import (
	"crypto/ed25519"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/protocol"
)

func publicKey(t *testing.T) string {
	t.Helper()
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(public)
}

func TestPairDevice(t *testing.T) {
	w := newWorld(t)
	code := w.code(arjun)
	if !regexp.MustCompile(`^[0-9A-HJKMNP-TV-Z]{5}-[0-9A-HJKMNP-TV-Z]{5}$`).MatchString(code) {
		t.Errorf("code %q", code)
	}
	good := Pairing{Code: code, PublicKey: publicKey(t), Kind: Phone, Name: " Arjun's phone ", TimeZone: "America/Los_Angeles"}
	for what, change := range map[string]func(*Pairing){
		"short key":      func(p *Pairing) { p.PublicKey = "AAAA" },
		"no key":         func(p *Pairing) { p.PublicKey = "" },
		"long key":       func(p *Pairing) { p.PublicKey += "AAAA" },
		"not base64url":  func(p *Pairing) { p.PublicKey = strings.Repeat("+", 43) },
		"kind":           func(p *Pairing) { p.Kind = "toaster" },
		"no kind":        func(p *Pairing) { p.Kind = "" },
		"a name of 81":   func(p *Pairing) { p.Name = strings.Repeat("x", 81) },
		"a name's break": func(p *Pairing) { p.Name = "a\nb" },
	} {
		p := good
		change(&p)
		_, err := w.PairDevice(w.ctx, p)
		wantCode(t, what, err, protocol.InvalidRequest)
	}
	for _, wrong := range []string{"", "nonsense", "00000-0000", "UUUUU-UUUUU", newCode()} {
		p := good
		p.Code = wrong
		_, err := w.PairDevice(w.ctx, p)
		wantCode(t, "code "+wrong, err, protocol.Unauthorized)
	}
	d, err := w.PairDevice(w.ctx, good)
	want := Device{
		ID: d.ID, Workspace: ws, PersonID: arjun, Kind: Phone, Name: "Arjun's phone", TimeZone: "America/Los_Angeles",
		Registered: protocol.At(w.clock.now()),
	}
	if err != nil || d != want || !protocol.ValidID(protocol.PrefixDevice, d.ID) {
		t.Errorf("got %+v, %v", d, err)
	}
	if got, err := w.Device(w.ctx, ws, d.ID); err != nil || got != want {
		t.Errorf("read back: %+v, %v", got, err)
	}
	_, err = w.PairDevice(w.ctx, good)
	wantCode(t, "a code used", err, protocol.Unauthorized)
}

func TestPairingCodeAsTyped(t *testing.T) {
	w := newWorld(t)
	for what, typed := range map[string]func(string) string{
		"lower case":     strings.ToLower,
		"without hyphen": func(c string) string { return strings.Replace(c, "-", "", 1) },
		"spaced":         func(c string) string { return " " + strings.Replace(c, "-", " ", 1) + " " },
		"look-alikes":    func(c string) string { return strings.NewReplacer("0", "O", "1", "l").Replace(c) },
	} {
		code := w.code(arjun)
		for !strings.Contains(code, "0") || !strings.Contains(code, "1") {
			code = w.code(arjun)
		}
		if _, err := w.PairDevice(w.ctx, Pairing{Code: typed(code), PublicKey: publicKey(t), Kind: Phone}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	last, late := w.code(arjun), w.code(arjun)
	w.clock.add(10 * time.Minute)
	_, err := w.PairDevice(w.ctx, Pairing{Code: last, PublicKey: publicKey(t), Kind: Phone})
	w.must(err)
	w.clock.add(time.Millisecond)
	_, err = w.PairDevice(w.ctx, Pairing{Code: late, PublicKey: publicKey(t), Kind: Phone})
	wantCode(t, "after ten minutes", err, protocol.Unauthorized)
	// The padding of base64 may be sent.
	_, err = w.PairDevice(w.ctx, Pairing{Code: w.code(arjun), PublicKey: publicKey(t) + "=", Kind: Phone})
	w.must(err)
}

func TestZone(t *testing.T) {
	for name, ok := range map[string]bool{
		"America/Los_Angeles": true, "Asia/Kolkata": true, "America/Argentina/ComodRivadavia": true, "Etc/GMT+12": true, "UTC": true,
		"America/Port-au-Prince": true, "GMT-0": true, "EST5EDT": true, "GB-Eire": true, "W-SU": true,
		"": false, "Local": false, "local": false, "localtime": false, "posixrules": false, "posix/UTC": false, "right/UTC": false,
		"america/los_angeles": false, "AMERICA/LOS_ANGELES": false, "America/Los Angeles": false, "America/Nowhere": false, "America": false,
		"America/": false, "/UTC": false, "../UTC": false, "UTC\x00": false, "PDT": false, "+07:00": false, "zone.tab": false,
		strings.Repeat("A", 100_000): false,
	} {
		if got := zone(name); (got == name && name != "") != ok || !ok && got != "" {
			t.Errorf("%.40q: %q", name, got)
		}
	}
}

func TestDeviceTimeZone(t *testing.T) {
	w := newWorld(t)
	expect := func(what, want string) {
		t.Helper()
		if z, err := w.PhoneZone(w.ctx, ws, arjun); err != nil || z != want {
			t.Errorf("%s: %q, %v, want %q", what, z, err, want)
		}
		w.clock.add(time.Second)
	}
	expect("no device", "")
	w.device(arjun, Computer, "Europe/Berlin")
	expect("a computer", "")
	first, _ := w.device(arjun, Phone, "Asia/Kolkata")
	expect("a phone", "Asia/Kolkata")
	second, _ := w.device(arjun, Phone, "America/Los_Angeles")
	// covers: ROOM-15
	expect("the phone registered last", "America/Los_Angeles")
	w.device(priya, Phone, "Asia/Tokyo")
	w.device(arjun, Computer, "Europe/Paris")
	expect("neither another's nor a computer", "America/Los_Angeles")

	d, err := w.SetTimeZone(w.ctx, ws, first.ID, "Asia/Tokyo")
	if err != nil || d.TimeZone != "Asia/Tokyo" {
		t.Errorf("set: %+v, %v", d, err)
	}
	expect("the other phone moved", "America/Los_Angeles")
	d, err = w.SetTimeZone(w.ctx, ws, second.ID, "Atlantis/Centre")
	if err != nil || d.TimeZone != "" {
		t.Errorf("set to an unknown one: %+v, %v", d, err)
	}
	expect("the last phone has none", "")
	_, err = w.RevokeDevice(w.ctx, ws, second.ID)
	w.must(err)
	expect("the last phone was taken back", "Asia/Tokyo")
	third, _ := w.device(arjun, Phone, "Local")
	if third.TimeZone != "" {
		t.Errorf("Local: %q", third.TimeZone)
	}
	expect("a phone without a zone", "")
}

func TestRevokeDevice(t *testing.T) {
	w := newWorld(t)
	d, key := w.device(arjun, Phone, "")
	other, _ := w.device(arjun, Computer, "")
	for what, id := range map[string]string{"unknown": w.newID("dev"), "no id": "nonsense", "": "", "a token's": w.newID("tok")} {
		_, err := w.RevokeDevice(w.ctx, ws, id)
		wantCode(t, what, err, protocol.NotFound)
		_, err = w.SetTimeZone(w.ctx, ws, id, "UTC")
		wantCode(t, what, err, protocol.NotFound)
	}
	_, err := w.RevokeDevice(w.ctx, "ws_other", d.ID)
	wantCode(t, "from another workspace", err, protocol.NotFound)
	_, err = w.SetTimeZone(w.ctx, "ws_other", d.ID, "UTC")
	wantCode(t, "from another workspace", err, protocol.NotFound)

	r, body := w.signed(d, key, bend{})
	_, err = w.Authenticate(w.ctx, r, body)
	w.must(err)
	got, err := w.RevokeDevice(w.ctx, ws, d.ID)
	if err != nil || got != d {
		t.Errorf("taken back: %+v, %v", got, err)
	}
	r, body = w.signed(d, key, bend{})
	_, err = w.Authenticate(w.ctx, r, body)
	wantCode(t, "its signature", err, protocol.Unauthorized)
	if list, err := w.Devices(w.ctx, ws, arjun); err != nil || len(list) != 1 || list[0].ID != other.ID {
		t.Errorf("devices: %v, %v", list, err)
	}
}
