package managed

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Limits of copies (contract U-52).
const (
	MaxFiles    = 8
	MaxText     = 64 << 10 // bytes of a file's text
	MaxModels   = 40
	MaxChoices  = 12 // intervals of a heartbeat
	MaxJobs     = 24
	MaxRuns     = 200     // in one post
	MaxBody     = 4 << 20 // bytes of a copy of files: JSON that escapes every character is six times as long
	maxWords    = 4 << 10
	maxName     = 255
	maxMinutes  = 366 * 24 * 60
	maxTokens   = 1 << 53
	maxLeftOut  = 1000
	maxEfforts  = 40
	maxPercents = 101
	maxDepth    = 64
)

// Kind is one of the things that are managed from Chips.
type Kind struct {
	// Path is the end of the path of its copy, below its agent's or its harness's.
	Path string
	// OfHarness says that the copy is a harness's and not an agent's.
	OfHarness bool
	// Capability is what a person grants for it, and Accepts the word of the hello of sockets that listen.
	Capability, Accepts string
	// Asks are the changes that may be asked.
	Asks []Ask

	// copy is what a copy is.
	copy shape
	// agree refuses a copy whose parts do not go together; nil where all do.
	agree func(copy map[string]any) *protocol.Error
}

// Ask is a change that a person may ask for.
type Ask struct {
	// Path is the end of the path to ask it at, below the copy's; {job} stands for a job's id.
	Path string
	// Frame is what the harness is sent.
	Frame string
	// prefix is that of its id, which names its field too.
	prefix string
	// wish is what is asked, and becomes part of the frame.
	wish shape
	// allow refuses what the copy does not offer. of is what the path says it is about, "" where it says nothing.
	allow func(copy, wish map[string]any, of string) *protocol.Error
}

// idField is the field that names the change in frames and answers.
func idField(prefix string) string {
	if prefix == protocol.PrefixEdit {
		return "edit_id"
	}
	return "change_id"
}

var readOnly = []field{must("editable", truth), may("why_read_only", text(0, maxWords))}

// file is one file of a context, with what else it has in its set.
func file(more ...field) shape {
	return object(slices.Concat(more, readOnly, []field{
		must("name", text(1, maxName)), must("title", text(0, maxName)), may("about", text(0, maxWords)),
		may("role", oneOf("identity", "instructions", "about_you", "memory", "other")),
		may("text", text(0, MaxText)), may("hash", text(0, maxName)), may("replaceable", truth),
	})...)
}

var (
	notShown = may("not_shown", list(maxLeftOut, "files", object(must("name", text(1, maxName)), must("reason", text(0, maxWords)))))
	minutes  = whole(1, maxMinutes)
	edit     = Ask{
		Path: "edits", Frame: "context.edit", prefix: protocol.PrefixEdit,
		wish: object(must("name", text(1, maxName)), must("text", text(0, MaxText)), orNull("base_hash", text(0, maxName))), allow: allowEdit,
	}
)

// Kinds are all there are.
var Kinds = []Kind{
	{
		Path: "context", Capability: "context_files", Accepts: "context", Asks: []Ask{edit},
		copy: object(must("files", oneOfAKind("name", list(MaxFiles, "files", file(may("shared", text(1, maxName)))))), notShown, may("read_note", text(0, maxWords))),
	},
	{
		Path: "context", OfHarness: true, Capability: "context_files", Accepts: "context", Asks: []Ask{edit},
		copy: object(must("shared", oneOfAKind("name", list(MaxFiles, "files", file(must("id", text(1, maxName)))))), notShown, may("new_agents_note", text(0, maxWords))),
	},
	{
		Path: "model", Capability: "models", Accepts: "models",
		copy: object(append(slices.Clone(readOnly),
			must("model", text(1, maxName)), may("effort", text(1, maxName)), must("own", truth),
			may("default", object(must("label", text(0, maxName)), must("model", text(1, maxName)), may("effort", text(1, maxName)))),
			must("choices", list(MaxModels, "models", object(
				must("id", text(1, maxName)), must("label", text(0, maxName)), may("effort_default", text(1, maxName)),
				must("efforts", list(maxEfforts, "efforts", object(must("id", text(1, maxName)), must("label", text(0, maxName))))),
			))), may("followed_by", whole(0, maxTokens)))...),
		agree: agreeModel,
		Asks: []Ask{{
			Path: "changes", Frame: "model.change", prefix: protocol.PrefixChange,
			wish: object(orNull("model", text(1, maxName)), orNull("effort", text(1, maxName))), allow: allowModel,
		}},
	},
	{
		Path: "heartbeat", Capability: "heartbeats", Accepts: "heartbeats",
		copy:  object(append(slices.Clone(readOnly), must("on", truth), must("every", minutes), must("choices", list(MaxChoices, "choices", minutes)))...),
		agree: agreeHeartbeat,
		Asks: []Ask{{
			Path: "changes", Frame: "heartbeat.change", prefix: protocol.PrefixChange,
			wish: object(must("on", truth), must("every", minutes)), allow: allowHeartbeat,
		}},
	},
	{
		Path: "context-window", Capability: "context_windows", Accepts: "context_windows",
		copy: object(append(slices.Clone(readOnly),
			must("used", whole(0, maxTokens)), must("window", whole(0, maxTokens)), may("model", text(0, maxName)), must("as_of", moment),
			may("compacting", oneOf("queued", "running")),
			may("last", object(must("at", moment), must("from", whole(0, maxTokens)), must("to", whole(0, maxTokens)), must("by", oneOf("asked", "itself")))),
			may("long_turn", anything), must("compacts", truth), may("why_not", text(0, maxWords)),
			may("limit", object(orNull("at", whole(0, 100)), must("choices", list(maxPercents, "choices", whole(0, 100))), may("default", whole(0, 100)), must("may_turn_off", truth))))...),
		Asks: []Ask{
			{
				Path: "changes", Frame: "context_window.change", prefix: protocol.PrefixChange,
				wish: object(orNull("at", whole(0, 100))), allow: allowLimit,
			},
			{Path: "compact", Frame: "context_window.compact", prefix: protocol.PrefixChange, wish: object(), allow: allowCompact},
		},
	},
	{
		Path: "jobs", OfHarness: true, Capability: "jobs", Accepts: "jobs",
		copy: object(must("jobs", oneOfAKind("job_id", list(MaxJobs, "jobs", object(append(slices.Clone(readOnly),
			must("job_id", jobID), must("name", text(1, maxName)), must("about", text(0, maxWords)), must("kind", oneOf("heartbeat", "memory", "skills", "other")),
			may("every", minutes), may("when", text(1, maxWords)), may("next_at", moment), may("for_agents", anything), must("on", truth),
			may("choices", list(maxLeftOut, "choices", minutes)))...))))),
		Asks: []Ask{{
			Path: "{job}/changes", Frame: "job.change", prefix: protocol.PrefixChange,
			wish: object(must("on", truth), may("every", minutes)), allow: allowJob,
		}},
	},
}

var jobIDs = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

func jobID(at string, v any) (any, *protocol.Error) {
	if s, ok := v.(string); ok && jobIDs.MatchString(s) {
		return s, nil
	}
	return nil, bad(at, "is 1 to 64 of A-Z, a-z, 0-9, dot, underscore and hyphen")
}

// runID is part of a key.
func runID(at string, v any) (any, *protocol.Error) {
	if s, ok := v.(string); ok && strings.ContainsFunc(s, unicode.IsControl) {
		return nil, bad(at, "has no control characters")
	}
	return text(1, maxName)(at, v)
}

// run is one run of a job.
var run = object(
	must("job_id", jobID), must("run_id", runID), must("started_at", moment), must("ended_at", moment),
	must("outcome", oneOf("done", "failed", "stopped")), may("quiet", anything), may("waited", anything), may("error", text(0, maxWords)),
	may("agent_id", text(1, maxName)), may("cost_usd", amount(1e6)), may("tokens", anything), may("model", text(0, maxName)),
)

func agreeModel(copy map[string]any) *protocol.Error {
	if copy["own"] == false && copy["default"] == nil {
		return bad("default", "is missing: own is false, so the agent runs on it")
	}
	return nil
}

func agreeHeartbeat(copy map[string]any) *protocol.Error {
	last := 0.0
	choices, _ := copy["choices"].([]any)
	for _, c := range choices {
		if n, _ := c.(float64); n <= last {
			return bad("choices", "go from the shortest to the longest, each once")
		} else {
			last = n
		}
	}
	return oneOfChoices("every", copy["choices"], copy["every"])
}

// oneOfChoices refuses what is not among the choices.
func oneOfChoices(name string, choices, v any) *protocol.Error {
	if !has(choices, v) {
		return bad(name, "is one of choices")
	}
	return nil
}

// editable refuses a change of what the harness does not let be changed, in its words.
func editable(of map[string]any) *protocol.Error {
	switch why := str(of, "why_read_only"); {
	case of["editable"] == true:
		return nil
	case why != "":
		return protocol.Refuse(protocol.InvalidRequest, "this cannot be changed: %s", why)
	}
	return protocol.Refuse(protocol.InvalidRequest, "this cannot be changed: the harness says that it is not editable")
}

func allowEdit(copy, wish map[string]any, _ string) *protocol.Error {
	name := str(wish, "name")
	file := find(copy["files"], "name", name)
	if file == nil {
		file = find(copy["shared"], "name", name)
	}
	switch {
	case file == nil:
		return bad("name", "is no file of this set")
	case wish["base_hash"] != nil:
		return editable(file)
	case file["shared"] == nil && file["hash"] != nil:
		return bad("base_hash", "is missing: only an agent's shared file is given a copy of its own")
	case file["replaceable"] == true:
		return nil
	}
	return editable(file)
}

func allowModel(copy, wish map[string]any, _ string) *protocol.Error {
	if err := editable(copy); err != nil {
		return err
	}
	if wish["model"] == nil {
		switch {
		case wish["effort"] != nil:
			return bad("effort", "is null where model is")
		case copy["default"] == nil:
			return bad("model", "is one of choices: there is no default to go back to")
		}
		return nil
	}
	choice := find(copy["choices"], "id", str(wish, "model"))
	switch {
	case choice == nil:
		return bad("model", "is one of choices")
	case wish["effort"] != nil && find(choice["efforts"], "id", str(wish, "effort")) == nil:
		return bad("effort", "is one of the model's efforts")
	}
	return nil
}

func allowHeartbeat(copy, wish map[string]any, _ string) *protocol.Error {
	if err := editable(copy); err != nil {
		return err
	}
	return oneOfChoices("every", copy["choices"], wish["every"])
}

func allowLimit(copy, wish map[string]any, _ string) *protocol.Error {
	limit := sub(copy, "limit")
	switch err := editable(copy); {
	case err != nil:
		return err
	case limit == nil:
		return bad("at", "cannot be set: the harness has no limit")
	case wish["at"] == nil && limit["may_turn_off"] != true:
		return bad("at", "cannot be null: the harness does not let it be turned off")
	case wish["at"] == nil:
		return nil
	}
	return oneOfChoices("at", limit["choices"], wish["at"])
}

func allowCompact(copy, _ map[string]any, _ string) *protocol.Error {
	if copy["compacts"] != true {
		if why := str(copy, "why_not"); why != "" {
			return protocol.Refuse(protocol.InvalidRequest, "it does not compact: %s", why)
		}
		return protocol.Refuse(protocol.InvalidRequest, "it does not compact: the harness says so")
	}
	return editable(copy)
}

func allowJob(copy, wish map[string]any, of string) *protocol.Error {
	job := find(copy["jobs"], "job_id", of)
	if job == nil {
		return protocol.Refuse(protocol.NotFound, "no such job")
	}
	if err := editable(job); err != nil || wish["every"] == nil {
		return err
	}
	return oneOfChoices("every", job["choices"], wish["every"])
}
