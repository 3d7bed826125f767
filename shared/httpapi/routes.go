package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// route is one method on one path. In a pattern {usr} is an id with that prefix, and {participant} one of a person, a harness or an agent.
type route struct {
	method, pattern string
	who             callers
	handle          func(*call) (any, error)
}

// callers are the kinds of caller a route is for.
type callers string

const (
	anyone   callers = "anybody"
	operator callers = "the operator's admin token"
	people   callers = "people"
	harness  callers = "harnesses"
	members  callers = "people and harnesses"
)

func (w callers) includes(kind protocol.ActorKind) bool {
	switch kind {
	case protocol.KindSystem:
		return w == operator
	case protocol.KindPerson:
		return w == people || w == members
	case protocol.KindHarness:
		return w == harness || w == members
	}
	return false
}

// table is every route there is.
func (a *api) table() []route {
	return slices.Concat(a.managedRoutes(), []route{
		{"GET", "/v1/health", anyone, a.health},

		{"POST", "/v1/workspaces", operator, a.openWorkspace},
		{"PATCH", "/v1/workspaces/{ws}", people, a.renameWorkspace},
		{"PUT", "/v1/workspaces/{ws}/policy", people, a.setCap},
		{"GET", "/v1/workspaces/{ws}/exchange", members, a.getExchange},
		{"PUT", "/v1/workspaces/{ws}/exchange", people, a.setExchange},

		{"POST", "/v1/people", people, a.addPerson},
		{"PATCH", "/v1/people/{usr}", people, a.updatePerson},
		{"DELETE", "/v1/people/{usr}", people, a.removePerson},
		{"POST", "/v1/people/{usr}/pairing-codes", people, a.addPairingCode},
		{"POST", "/v1/devices", anyone, a.pairDevice},
		{"PATCH", "/v1/devices/{dev}", people, a.updateDevice},
		{"DELETE", "/v1/devices/{dev}", people, a.removeDevice},

		{"POST", "/v1/harnesses", people, a.addHarness},
		{"GET", "/v1/harnesses/{hrn}", members, a.getHarness},
		{"DELETE", "/v1/harnesses/{hrn}", people, a.removeHarness},
		{"POST", "/v1/harnesses/{hrn}/tokens", people, a.addToken},
		{"DELETE", "/v1/harnesses/{hrn}/tokens/{tok}", people, a.removeToken},
		{"PUT", "/v1/harnesses/{hrn}/capabilities", members, a.setCapabilities},
		{"PUT", "/v1/harnesses/{hrn}/policy", people, a.setPolicy},
		{"PUT", "/v1/harnesses/{hrn}/budget", people, a.setBudget},
		{"PUT", "/v1/harnesses/{hrn}/status", harness, a.setStatus},
		{"POST", "/v1/harnesses/{hrn}/agents", harness, a.registerAgent},
		{"GET", "/v1/harnesses/{hrn}/agents", harness, a.listAgents},
		{"POST", "/v1/harnesses/{hrn}/spaces", people, a.askSpace},
		{"POST", "/v1/harnesses/{hrn}/restart", people, a.restartHarness},
		{"PATCH", "/v1/agents/{agt}", people, a.updateAgent},
		{"POST", "/v1/agents/{agt}/move", people, a.moveAgent},
		{"POST", "/v1/agents/{agt}/attach", harness, a.attachAgent},

		{"GET", "/v1/participants", members, a.listParticipants},

		{"GET", "/v1/spaces", members, a.listSpaces},
		{"POST", "/v1/spaces", members, a.openSpace},
		{"GET", "/v1/spaces/{spc}", members, a.getSpace},
		{"GET", "/v1/spaces/{spc}/context", harness, a.readContext},
		{"PATCH", "/v1/spaces/{spc}", members, a.renameSpace},
		{"DELETE", "/v1/spaces/{spc}", members, a.deleteSpace},
		{"POST", "/v1/spaces/{spc}/archive", members, a.archiveSpace},
		{"POST", "/v1/spaces/{spc}/unarchive", members, a.unarchiveSpace},
		{"POST", "/v1/spaces/{spc}/claim", harness, a.claimSpace},
		{"POST", "/v1/spaces/{spc}/lead", people, a.setLead},
		{"GET", "/v1/spaces/{spc}/spend", members, a.getSpend},
		{"POST", "/v1/spaces/{spc}/spend-ceiling", people, a.setCeiling},
		{"POST", "/v1/spaces/{spc}/lock", people, a.setLock},
		{"POST", "/v1/spaces/{spc}/members", members, a.addMember},
		{"DELETE", "/v1/spaces/{spc}/members/{participant}", members, a.removeMember},

		{"POST", "/v1/spaces/{spc}/forks", people, a.askFork},
		{"POST", "/v1/spaces/{spc}/agents", people, a.askAgent},

		{"GET", "/v1/spaces/{spc}/files", members, a.listFiles},
		{"POST", "/v1/uploads", members, a.upload},
		{"PUT", "/v1/uploads/{att}/bytes", anyone, a.receiveUpload},
		{"POST", "/v1/uploads/{att}/done", members, a.finishUpload},
		{"GET", "/v1/attachments/{att}/url", members, a.attachmentURL},
		{"GET", "/v1/attachments/{att}", anyone, a.fetchAttachment},

		{"GET", "/v1/events", members, a.listEvents},
		{"POST", "/v1/events", members, a.writeEvent},
		{"POST", "/v1/socket-tickets", members, a.issueTicket},
	})
}

// takesFile says whether the body may be a file.
func (r *route) takesFile() bool {
	return r.pattern == "/v1/uploads" || r.pattern == "/v1/uploads/{att}/bytes"
}

// match finds the route of a method and a path; HEAD is GET's. methods are those that the path takes, none for a path that is no route's.
func (a *api) match(method, path string) (found *route, methods []string, params map[string]string) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for i := range a.routes {
		p, ok := fits(a.routes[i].pattern, path)
		if !ok {
			continue
		}
		methods = append(methods, a.routes[i].method)
		if a.routes[i].method == method {
			found, params = &a.routes[i], p
		}
	}
	return found, methods, params
}

// fits says whether a path is a pattern's, and what stands in its braces.
func fits(pattern, path string) (map[string]string, bool) {
	params := map[string]string{}
	for pattern != "" || path != "" {
		var want, have string
		var more, also bool
		want, pattern, more = strings.Cut(pattern, "/")
		have, path, also = strings.Cut(path, "/")
		switch {
		case more != also:
			return nil, false
		case strings.HasPrefix(want, "{") && have != "":
			params[strings.Trim(want, "{}")] = have
		case want != have:
			return nil, false
		}
	}
	return params, true
}

// checkParams refuses a path whose ids cannot be anybody's, as it refuses those that are unknown.
func (c *call) checkParams() error {
	for prefix, id := range c.params {
		prefixes := []string{prefix}
		if prefix == "participant" {
			prefixes = []string{protocol.PrefixPerson, protocol.PrefixHarness, protocol.PrefixAgent}
		}
		switch {
		case slices.ContainsFunc(prefixes, func(p string) bool { return protocol.ValidID(p, id) }):
		case prefix == jobParam: // no id of Chips
		case prefix == protocol.PrefixSpace:
			return notInSpace()
		default:
			return unknown(prefix)
		}
	}
	if ws, ok := c.params[protocol.PrefixWorkspace]; ok && ws != c.caller.Workspace {
		return unknown(protocol.PrefixWorkspace)
	}
	return nil
}

// unknown refuses an id that nobody has or that the caller may not see.
func unknown(prefix string) *protocol.Error {
	return protocol.Refuse(protocol.NotFound, "no such %s", map[string]string{
		protocol.PrefixWorkspace: "workspace", protocol.PrefixPerson: "person", protocol.PrefixDevice: "device",
		protocol.PrefixHarness: "harness", protocol.PrefixToken: "token", protocol.PrefixAgent: "agent",
		"participant": "participant", protocol.PrefixAttachment: "attachment",
	}[prefix])
}

// notInSpace refuses a room that the caller is not in, and one that is not there, in the same words.
func notInSpace() *protocol.Error {
	return protocol.Refuse(protocol.Forbidden, "you are not in this room")
}
