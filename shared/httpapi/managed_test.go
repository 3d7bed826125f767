package httpapi

import (
	"strings"
	"testing"
	"time"
)

// copies are a copy of each kind by the end of its path, and asks what may be asked of it.
var (
	copies = map[string]J{
		"context": {
			"files":  []J{{"name": "SOUL.md", "title": "Soul", "role": "identity", "text": "Be kind.", "hash": "h1", "editable": true}},
			"shared": []J{{"id": "s1", "name": "TEAM.md", "title": "Team", "text": "We.", "hash": "h2", "editable": true}},
		},
		"model": {
			"model": "m1", "own": true, "default": J{"label": "Same as J", "model": "m1"}, "editable": true,
			"choices": []J{{"id": "m1", "label": "M1", "efforts": []J{{"id": "low", "label": "Low"}}}},
		},
		"heartbeat": {"on": true, "every": 30, "choices": []int{10, 30}, "editable": true},
		"context-window": {
			"used": 1000, "window": 200_000, "as_of": "2026-09-02T14:22:15Z", "compacts": true, "editable": true,
			"limit": J{"at": 80, "choices": []int{60, 80}, "may_turn_off": true},
		},
		"jobs": {"jobs": []J{{"job_id": "j1", "name": "Tidy", "about": "Tidies", "kind": "memory", "every": 60, "choices": []int{60, 90}, "on": true, "editable": true}}},
	}
	asks = map[string]J{
		"context/edits": {"name": "SOUL.md", "text": "Be kinder.", "base_hash": "h1"}, "model/changes": {"model": nil, "effort": nil},
		"heartbeat/changes": {"on": false, "every": 10}, "context-window/changes": {"at": nil}, "context-window/compact": {},
		"jobs/{job}/changes": {"on": false, "every": 90},
	}
)

// manages has Scout granted everything that is managed, and its copies sent.
func manages(w *world) {
	w.arjun.must("PUT", "/v1/harnesses/"+w.scout.id+"/capabilities", J{"capabilities": []string{"agents", "context_files", "models", "heartbeats", "jobs", "context_windows"}})
	for path, copy := range copies {
		if path != "jobs" {
			w.scout.must("PUT", "/v1/agents/"+w.scout.agent+"/"+path, copy)
		}
		if path == "jobs" || path == "context" {
			w.scout.must("PUT", "/v1/harnesses/"+w.scout.id+"/"+path, copy)
		}
	}
}

func init() {
	for _, r := range (&api{}).managedRoutes() {
		pattern := r.pattern
		_, path, _ := strings.Cut(strings.TrimPrefix(pattern, "/v1/"), "}/")
		c := tried{method: r.method, pattern: pattern, target: func(w *world) string {
			manages(w)
			return strings.NewReplacer("{agt}", w.scout.agent, "{hrn}", w.scout.id, "{job}", "j1").Replace(pattern)
		}}
		switch r.method {
		case "PUT":
			c.by, c.body, c.check = scout, body(copies[path]), func(*testing.T, *world, J) {}
		case "GET":
			c.by, c.check = arjun, has("copy", "away")
		default:
			c.by, c.check = arjun, has("change_id")
			c.body = body(asks[path])
			if path == "context/edits" {
				c.check = has("edit_id")
				if strings.Contains(pattern, "{hrn}") {
					c.body = body(J{"name": "TEAM.md", "text": "Us.", "base_hash": "h2"})
				}
			}
			if path == "jobs/runs" {
				now := time.Now().UTC().Format(time.RFC3339)
				c.by, c.check = scout, func(*testing.T, *world, J) {}
				c.body = body(J{"runs": []J{{"job_id": "j1", "run_id": "r1", "started_at": now, "ended_at": now, "outcome": "done"}}})
			}
		}
		allRoutes = append(allRoutes, c)
	}
}
