package main

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// secret is a word and who may learn it.
type secret struct {
	what, word string
	knows      []*party
}

// walk is a town where some is hidden from most.
type walk struct {
	*town
	far, wes, mel *party
	secrets       []secret
	ids           map[string][]string // by prefix
}

func (w *walk) hide(what, word string, from ...*party) {
	w.secrets = append(w.secrets, secret{what, word, from})
	if i := strings.Index(word, "_"); i > 0 && protocol.ValidID(word[:i], word) {
		w.ids[word[:i]] = append(w.ids[word[:i]], word)
	}
}

// may says whether somebody may learn a word.
func (s secret) may(p *party) bool { return slices.Contains(s.knows, p) }

func newWalk(t *testing.T) *walk {
	w := &walk{town: newTown(t), ids: map[string][]string{}}
	insiders := []*party{w.owner, w.priya}
	room := []*party{w.owner, w.priya, w.gus, w.scouts, w.ledger}
	w.wes, w.mel = w.person("Wes Alone", "guest"), w.person("Mel Unmet", "member")
	insiders = append(insiders, w.mel)
	far, made := w.harness("Farmost", "agents")
	w.far = far
	vault := w.open(w.owner, "Vault title")
	w.move(made.AgentID, vault)
	hid := str(far.register("farkey-secret", J{"name": "Farhidden"}), "agent_id")
	nova := str(w.scouts.register("novakey-secret", J{"name": "Nova"}), "agent_id")
	w.owner.must(http.MethodPut, "/v1/harnesses/"+far.id+"/policy", J{"autonomy": 1, "rules": []any{J{"match": "farrule.*", "decision": "deny"}}})
	// Scout's agent visits the den and comes back: who is in the room it left hears that it went, and not where to.
	den := w.open(w.owner, "Den title")
	w.move(w.s1, den)
	w.scouts.write("message.post", J{"space_id": den, "text": "said in the den"})
	w.move(w.s1, w.room)
	// Another is taken out of the room and speaks on, to nobody yet.
	eve := str(w.scouts.register("evekey-secret", J{"name": "Eve"}), "agent_id")
	w.owner.must(http.MethodPost, "/v1/spaces/"+w.room+"/members", J{"participant_id": eve})
	w.owner.must(http.MethodDelete, "/v1/spaces/"+w.room+"/members/"+eve, nil)
	w.scouts.write("message.post", J{"actor": speaks(eve), "text": "words that are held"})
	door := str(w.scouts.must(http.MethodPost, "/v1/spaces", J{"title": "Door title", "key": "doorkey-secret", "participant_ids": []string{w.priya.id}}), "space_id")
	w.owner.write("message.post", J{"space_id": vault, "text": "said in the vault"})
	w.owner.write("message.post", J{"space_id": w.room, "text": "said in the room"})

	with := func(list []*party, more ...*party) []*party { return append(slices.Clone(list), more...) }
	for _, word := range []string{vault, "Vault title", "said in the vault"} {
		w.hide("the vault", word, w.owner, far)
	}
	for _, word := range []string{w.room, "said in the room"} {
		w.hide("the room", word, room...)
	}
	w.hide("X", w.x, w.owner, w.priya)
	for _, word := range []string{den, "Den title", "said in the den"} {
		w.hide("the den", word, w.owner, w.scouts)
	}
	for _, word := range []string{door, "Door title"} {
		w.hide("Scout's own room", word, w.owner, w.priya, w.scouts)
	}
	for _, word := range []string{made.AgentID, hid, "Farhidden", far.id, "Farmost", "farrule"} {
		w.hide("Far", word, with(insiders, far)...)
	}
	for _, word := range []string{nova, "Nova"} {
		w.hide("Scout's free agent", word, with(insiders, w.scouts)...)
	}
	for _, word := range []string{w.s1, w.scouts.id} {
		w.hide("Scout", word, append(with(room), w.mel)...)
	}
	w.hide("Ledger", w.ledger.id, append(with(room), w.mel)...)
	w.hide("Mel", w.mel.id, insiders...)
	w.hide("Mel", "Mel Unmet", insiders...)
	w.hide("Wes", w.wes.id, with(insiders, w.wes)...)
	w.hide("Priya", w.priya.id, append(with(room), w.mel)...)
	w.hide("Gus", w.gus.id, append(with(room), w.mel)...)
	for key, of := range map[string]*party{"farkey-secret": far, "novakey-secret": w.scouts, "evekey-secret": w.scouts, "doorkey-secret": w.scouts} {
		w.hide("a key", key, of)
	}
	w.hide("held words", "words that are held", w.scouts)
	return w
}

// check looks for what a party may not learn in what it is told; what it said itself is not learned.
func (w *walk) check(p *party, where, asked, told string) {
	w.t.Helper()
	for _, s := range w.secrets {
		if !s.may(p) && strings.Contains(told, s.word) && !strings.Contains(asked, s.word) {
			w.t.Errorf("%s learns of %s (%s) by %s: %.600s", p.id, s.what, s.word, where, told)
		}
	}
}

// raw does a request and answers status and body as they come.
func (p *party) raw(method, path string, in any) (int, string) {
	p.t.Helper()
	body := ""
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			p.t.Fatal(err)
		}
		body = string(b)
	}
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.URL+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return res.StatusCode, string(out)
}

var (
	routeLine = regexp.MustCompile(`\{"([A-Z]+)", "(/v1/[^"]*)"`)
	param     = regexp.MustCompile(`\{[a-z]+\}`)
)

// routes are all that the API has, as method and pattern.
func routes(t *testing.T) (all [][2]string) {
	t.Helper()
	source, err := os.ReadFile("../../shared/httpapi/routes.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range routeLine.FindAllStringSubmatch(string(source), -1) {
		all = append(all, [2]string{m[1], m[2]})
	}
	if len(all) < 40 {
		t.Fatalf("%d routes", len(all))
	}
	return all
}

// paths are a pattern with each id that fits in each of its places.
func (w *walk) paths(pattern string) []string {
	in := param.FindString(pattern)
	if in == "" {
		return []string{pattern}
	}
	prefix := strings.Trim(in, "{}")
	ids := w.ids[prefix]
	switch prefix {
	case "ws":
		ids = []string{w.workspace.WorkspaceID}
	case "participant":
		ids = slices.Concat(w.ids["usr"], w.ids["hrn"], w.ids["agt"])
	}
	var all []string
	for _, id := range ids {
		all = append(all, w.paths(strings.Replace(pattern, in, id, 1))...)
	}
	return all
}

// Nobody learns of a room, an agent, a person, a name, a key or where an agent went what the documents do not give them: by no route that
// reads, by no answer to a write that touches what is hidden from them, by no event and no hello.
//
// covers: WHO-2, WHO-3, WHO-4, WHO-5, WHO-6, WHO-7, HELD-7, AUTH-7
func TestNobodyLearnsWhatIsNotTheirs(t *testing.T) {
	t.Parallel()
	w := newWalk(t)
	parties := []*party{w.owner, w.priya, w.mel, w.gus, w.wes, w.scouts, w.ledger, w.far}
	end := w.fence()
	learned := map[string]bool{}
	for _, p := range parties {
		var told []string
		told = append(told, string(p.connect("").hello))
		for _, raw := range p.from(0, `,"accepts":["events"]`).through(end) {
			told = append(told, string(raw))
		}
		for _, raw := range p.log(0, "") {
			told = append(told, string(raw))
		}
		for _, raw := range told {
			w.check(p, "what it is sent", "", raw)
		}
		reads := 0
		for _, r := range routes(t) {
			if r[0] != http.MethodGet {
				continue
			}
			paths := w.paths(r[1])
			if r[1] == "/v1/events" {
				for _, spc := range w.ids["spc"] {
					paths = append(paths, r[1]+"?space_id="+spc)
				}
			}
			for _, path := range paths {
				status, got := p.raw(http.MethodGet, path, nil)
				w.check(p, "GET "+path, path, got)
				told = append(told, got)
				if status == http.StatusOK {
					reads++
				}
			}
		}
		if reads < 5 {
			t.Errorf("%s could read %d", p.id, reads)
		}
		all := strings.Join(told, "\n")
		for _, s := range w.secrets {
			if s.may(p) && strings.Contains(all, s.word) {
				learned[s.word] = true
			}
		}
	}
	for _, s := range w.secrets {
		if !learned[s.word] {
			t.Errorf("nobody at all is told of %s (%s): the walk looks for nothing", s.what, s.word)
		}
	}
	for _, p := range []*party{w.gus, w.wes, w.scouts, w.ledger, w.far} {
		w.touch(p)
	}
}

// touch has somebody write to all that is hidden from them.
func (w *walk) touch(p *party) {
	w.t.Helper()
	hidden := map[string][]string{}
	for _, s := range w.secrets {
		if i := strings.Index(s.word, "_"); i > 0 && !s.may(p) && slices.Contains(w.ids[s.word[:i]], s.word) {
			hidden[s.word[:i]] = append(hidden[s.word[:i]], s.word)
		}
	}
	known := w.ids
	w.ids = hidden
	defer func() { w.ids = known }()
	tried := 0
	for _, r := range routes(w.t) {
		if r[0] == http.MethodGet || r[1] == "/v1/events" || !param.MatchString(r[1]) && r[1] != "/v1/spaces" {
			continue
		}
		for _, path := range w.paths(r[1]) {
			for i := range 3 {
				of := func(prefix string) string {
					if ids := hidden[prefix]; len(ids) > 0 {
						return ids[i%len(ids)]
					}
					return ""
				}
				in := J{
					"participant_id": of("agt"), "agent_id": of("agt"), "space_id": of("spc"), "harness_id": of("hrn"), "replacing": of("agt"), "participant_ids": []string{of("usr")},
					"title": "t", "name": "n", "text": "x", "key": "k", "display_name": "d", "capabilities": []string{}, "autonomy": 1, "status": "ok", "role": "member", "limit_usd": 1,
				}
				asked, err := json.Marshal(in)
				if err != nil {
					w.t.Fatal(err)
				}
				_, got := p.raw(r[0], path, in)
				w.check(p, r[0]+" "+path, path+string(asked), got)
				tried++
			}
		}
	}
	s := p.connect("")
	for _, typ := range []string{"message.post", "space.renamed", "member.added", "member.removed", "agent.moved", "space.archived", "space.closed", "space.opened", "run.started"} {
		for _, spc := range hidden["spc"] {
			for _, agt := range hidden["agt"] {
				e := p.event(typ, J{
					"space_id": spc, "text": "x", "title": "t", "participant_id": agt, "agent_id": agt, "to_space_id": spc, "run_id": w.run(), "participant_ids": []string{agt},
				})
				if typ == "space.opened" {
					delete(e, "space_id")
				}
				asked, err := json.Marshal(e)
				if err != nil {
					w.t.Fatal(err)
				}
				answer, err := json.Marshal(s.write(e))
				if err != nil {
					w.t.Fatal(err)
				}
				w.check(p, typ, string(asked), string(answer))
				tried++
			}
		}
	}
	if tried < 100 {
		w.t.Errorf("%s tried %d", p.id, tried)
	}
}
