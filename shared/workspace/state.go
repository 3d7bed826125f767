package workspace

import (
	"time"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// FoldVersion is the version of State as a snapshot keeps it. It goes up when Evolve or State changes in a way that an old
// snapshot does not show; a snapshot of another version is not read.
const FoldVersion = 6

// State is a workspace after the events up to Seq. Maps are keyed by id. It keeps what decisions and deliveries read, and no text of messages.
type State struct {
	ID   string        `json:"id"`
	Name string        `json:"name,omitzero"`
	Seq  int64         `json:"seq"`
	TS   protocol.Time `json:"ts"`

	People    map[string]*Person  `json:"people"`
	Harnesses map[string]*Harness `json:"harnesses"`
	Agents    map[string]*Agent   `json:"agents"`
	Rooms     map[string]*Room    `json:"rooms"`
	Runs      map[string]*Run     `json:"runs"`
	// Held is what agents said while in no room, by agent.
	Held map[string]*Held `json:"held,omitzero"`
	// Ended are the ids of ended runs that are remembered, oldest first, at most RememberedRuns.
	Ended []string `json:"ended,omitzero"`
	// Deleted are the ids of deleted rooms that are remembered, oldest first, at most RememberedRooms.
	Deleted []string `json:"deleted,omitzero"`

	// Asks are the copies and new agents that were asked for and are not there yet, oldest first.
	Asks []Ask `json:"asks,omitzero"`

	// Inquiries are what runs ask of people, by apr_ or qst_ id: those that wait, and of each kind the newest RememberedInquiries that do not,
	// which Answered lists by prefix, oldest first.
	Inquiries map[string]*Inquiry `json:"inquiries,omitzero"`
	Answered  map[string][]string `json:"answered,omitzero"`

	// LastBare is the seq of the newest event of no room, or that goes to some who are not in its room; 0 for none.
	LastBare int64 `json:"last_bare,omitzero"`

	Exchange protocol.ExchangeSettingsSet `json:"exchange"`
	Cap      protocol.PolicyCapSet        `json:"cap"`
}

// RememberedRuns is how many ended runs are known; an event on an older one is not_found (contract U-138).
const RememberedRuns = 1000

// RememberedRooms is how many deleted rooms are known to have been; an older one reads as one you are not in.
const RememberedRooms = 1000

// Person is somebody in the workspace. One who was removed stays by name, since the log names them.
type Person struct {
	ID       string        `json:"id"`
	Name     string        `json:"name"`
	Role     protocol.Role `json:"role"`
	Labels   []string      `json:"labels,omitzero"`
	TimeZone string        `json:"time_zone,omitzero"`
	Removed  bool          `json:"removed,omitzero"`
}

// Harness is a program that runs agents.
type Harness struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	OwnerID      string   `json:"owner_id"`
	Capabilities []string `json:"capabilities,omitzero"`
	Status       string   `json:"status,omitzero"`
	StatusWords  string   `json:"status_words,omitzero"`
	// StatusSeq and StatusAt are of the event that set its status; Before and BeforeWords are what it was while it is gone (Gone).
	StatusSeq   int64            `json:"status_seq,omitzero"`
	StatusAt    protocol.Time    `json:"status_at,omitzero"`
	Before      string           `json:"before,omitzero"`
	BeforeWords string           `json:"before_words,omitzero"`
	Policy      *protocol.Policy `json:"policy,omitzero"`
	// LimitUSD is its ceiling, nil for none, and Spent what its runs cost since that was set.
	LimitUSD *float64 `json:"limit_usd,omitzero"`
	Spent    Nanos    `json:"spent,omitzero"`
	// Direct is the room it was given with its owner.
	Direct  string `json:"direct,omitzero"`
	Removed bool   `json:"removed,omitzero"`
	// LastOwn is the seq of the newest event that it is sent whatever its rooms (contract U-82), 0 for none.
	LastOwn int64 `json:"last_own,omitzero"`
}

// Agent is a face of a harness.
type Agent struct {
	ID        string `json:"id"`
	HarnessID string `json:"harness_id"`
	// Key is the harness's own name for it; for an agent it was given, the id of the room it was given for.
	Key    string `json:"key"`
	Name   string `json:"name"`
	Handle string `json:"handle,omitzero"`
	// Asked is the name it was registered under, where a number was put behind it.
	Asked string `json:"asked,omitzero"`
	// ForkedFrom is the agent it was copied from, "" when it is no copy.
	ForkedFrom string `json:"forked_from,omitzero"`
	// WhyFree says why it did not join the room it was made for, until it is in one.
	WhyFree string `json:"why_free,omitzero"`
	NameBy  string `json:"name_by,omitzero"`
	// Face is what it is shown with.
	Face     protocol.Face `json:"face,omitzero"`
	Lead     bool          `json:"lead,omitzero"`
	Archived bool          `json:"archived,omitzero"`
	// Room is the open room it is in, "" while it is free.
	Room string `json:"room,omitzero"`
	// LastRoom is the room it was in last, "" when it has never been in one.
	LastRoom string `json:"last_room,omitzero"`
	// Parked is the archived room that brings it back when it is unarchived and the agent is still free.
	Parked string `json:"parked,omitzero"`
	// TookRoom says that its being archived put Parked away with it, so that it brings the room back.
	TookRoom bool `json:"took_room,omitzero"`
}

// Room is a space. A deleted one stays as a stub that says only who was in it.
type Room struct {
	ID       string        `json:"id"`
	Title    string        `json:"title,omitzero"`
	OpenedBy string        `json:"opened_by,omitzero"`
	OpenedAt protocol.Time `json:"opened_at,omitzero"`
	Archived bool          `json:"archived,omitzero"`
	Deleted  bool          `json:"deleted,omitzero"`
	// DirectOf is the harness whose direct room it is.
	DirectOf string `json:"direct_of,omitzero"`
	// AskedOf is the harness a person asked for the room, until it is claimed.
	AskedOf string `json:"asked_of,omitzero"`
	// Members are the people and agents in it, and the harness itself where it is who the room holds, in the order they joined.
	Members []string `json:"members,omitzero"`
	// Seats are what else is known of those who are in it; who is missing has the zero Seat.
	Seats map[string]Seat `json:"seats,omitzero"`
	// FirstSaid is the seq of the first words said here, 0 for none.
	FirstSaid int64 `json:"first_said,omitzero"`
	// Talk is how far its agents have gone on with each other by themselves.
	Talk Talk `json:"talk,omitzero"`
	// Job is what its agents do now, and Ceiling what they may spend on it, 0 for the default. Locked says that people change nothing of it.
	Job     Job   `json:"job,omitzero"`
	Ceiling Nanos `json:"ceiling,omitzero"`
	Locked  bool  `json:"locked,omitzero"`
	// Loose is its last words where they are an agent's that reached nobody, LooseMoved the newest seq that may have moved when its lead is
	// handed them, and LeadHanded what was handed to it last.
	Loose      *Loose `json:"loose,omitzero"`
	LooseMoved int64  `json:"loose_moved,omitzero"`
	LeadHanded string `json:"lead_handed,omitzero"`
	// TurnEnded is when the newest turn here ended.
	TurnEnded protocol.Time `json:"turn_ended,omitzero"`
	// Replaced are the newest who were replaced here, oldest first, at most MaxReplaced.
	Replaced Replacements `json:"replaced,omitzero"`
	// Lead is the agent that leads, "" for none.
	Lead string `json:"lead,omitzero"`
	// LastTo is, for each person, the agent they last wrote to here.
	LastTo map[string]string `json:"last_to,omitzero"`
	// LastAgentSaid is the agent whose words are the last an agent said here.
	LastAgentSaid string `json:"last_agent_said,omitzero"`
	// LastLine is the seq of the room's newest line, 0 for none.
	LastLine int64 `json:"last_line,omitzero"`
	// PrevLine is the seq of the line before that, 0 for none.
	PrevLine int64 `json:"prev_line,omitzero"`
	// ContextFrom is where the context of each agent that is or was here starts; see State.ContextFrom.
	ContextFrom map[string]int64 `json:"context_from,omitzero"`
	// Turns are the ids of the turns going here, oldest first: runs without a parent.
	Turns []string `json:"turns,omitzero"`
	// Renames are the newest renames of people who were here then, oldest first, at most MaxRenames.
	Renames []Rename `json:"renames,omitzero"`
	// Marks are what became of its messages after they were said.
	Marks Marks `json:"marks,omitzero"`
	// Files are the room's files by name, at most MaxRoomFiles. Forgotten are the numbers of the newest versions of names of which none stands.
	Files     map[string]*File `json:"files,omitzero"`
	Forgotten map[string]int   `json:"forgotten,omitzero"`
	// LastSeq is the seq of the room's newest event.
	LastSeq int64 `json:"last_seq,omitzero"`
	// OpenedSeq is the seq of its space.opened.
	OpenedSeq int64 `json:"opened_seq,omitzero"`
}

// Run is a piece of an agent's work, from run.started to its end.
type Run struct {
	ID        string `json:"id"`
	HarnessID string `json:"harness_id"`
	// AgentID is the agent whose run it is; the harness's id where the harness itself runs it.
	AgentID string        `json:"agent_id"`
	Room    string        `json:"room,omitzero"`
	Parent  string        `json:"parent,omitzero"`
	Started protocol.Time `json:"started"`
	Heard   protocol.Time `json:"heard"`
	Seq     int64         `json:"seq"`
	// EndSeq is the seq of its end, 0 while it goes.
	EndSeq int64 `json:"end_seq,omitzero"`
	// Step is the newest step it said it was on.
	Step string `json:"step,omitzero"`
	// Status is running, paused, completed, failed or cancelled.
	Status string `json:"status"`
	// Waiting are the ids of its inquiries that wait, oldest first, and Rules those made by answers that hold until it ends.
	Waiting []string        `json:"waiting,omitzero"`
	Rules   []protocol.Rule `json:"rules,omitzero"`
	// ByChips says that run.cancel ended it, not its harness.
	ByChips bool `json:"by_chips,omitzero"`
	// Unpriced is the seq of its newest usage report that nobody could price, 0 for none.
	Unpriced int64 `json:"unpriced,omitzero"`
}

// The statuses of a run.
const (
	Running   = "running"
	Paused    = "paused"
	Completed = "completed"
	Failed    = "failed"
	Cancelled = "cancelled"
)

// EndedRun says whether the run is over.
func (r *Run) EndedRun() bool { return r.Status != Running && r.Status != Paused }

// Has says whether a participant is in the room.
func (r *Room) Has(id string) bool {
	for _, m := range r.Members {
		if m == id {
			return true
		}
	}
	return false
}

// New is a workspace before its first event.
func New(id string) *State {
	stop, hold := DefaultStop, DefaultHold
	return &State{
		ID: id, People: map[string]*Person{}, Harnesses: map[string]*Harness{}, Agents: map[string]*Agent{},
		Rooms: map[string]*Room{}, Runs: map[string]*Run{},
		Exchange: protocol.ExchangeSettingsSet{Stop: &stop, Hold: &hold, Circles: true},
		Cap:      protocol.PolicyCapSet{MaxAutonomy: 3, Rules: []protocol.Rule{}},
	}
}

// The referee's settings until they are set.
const (
	DefaultStop = 16
	DefaultHold = 48
)

// DefaultAutonomy is a harness's level until one is set.
const DefaultAutonomy = 2

// Caller is who acts: a person, a harness or Chips itself, by one credential.
type Caller struct {
	// Workspace is the caller's workspace; "" only for the operator's admin token.
	Workspace string `json:"workspace"`
	// Kind is person, harness or system.
	Kind protocol.ActorKind `json:"kind"`
	// ID is a usr_ or hrn_ id, or system.
	ID string `json:"id"`
	// Credential is the id of the token, device or key, never the secret.
	Credential string `json:"credential,omitzero"`
}

// Command is something somebody asks for: a draft of an event, to be decided on.
type Command struct {
	By Caller
	// Draft has the event's type, its space_id, run_id, actor as the sender wrote them, its key and its data.
	Draft protocol.Event
	// Connection is the socket it came by, "" over HTTP. No decision reads it.
	Connection string
	// Operation says that it came by an HTTP route of its own, not as an event: types that only Chips writes are drafted so.
	Operation bool
	// Cited are the events of the messages that Cites names, by message id; one that is missing is in no log.
	Cited map[string]protocol.Event
	// Uploads are the facts of those that UploadsOf names, by id; one that is missing is nobody's.
	Uploads map[string]Upload
	// Now is the time of deciding.
	Now time.Time
	// Waits are the deployment's, by which deadlines are due, and Prices what models cost.
	Waits  Waits
	Prices Prices
	// Seed is the entropy of the ids that the decision mints; the same when it is decided again.
	Seed [16]byte
}

// Decision is what a command causes, all in one commit.
type Decision struct {
	// Events have type, space_id, run_id, actor and data; the commit fills in the rest. None means there is nothing to do.
	Events []protocol.Event
	// Primary is the index of the event that the ack names.
	Primary int
	// Missing are ids of messages that the state names, as Cites does those of the draft: nothing is decided until they are in
	// Command.Cited, where one that is in no log is the zero Event.
	Missing []string
}
