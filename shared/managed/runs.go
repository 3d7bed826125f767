package managed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

const (
	// runsFor is how long a run is kept, from when it started.
	runsFor = 90 * 24 * time.Hour
	// maxRun is how long a run may be as JSON, and maxPage the runs of one answer, in bytes.
	maxRun, maxPage = 16 << 10, 4 << 20
	// beside is how many runs are written at once.
	beside = 16
	// byTime and byID are what the sort keys of a run and of where it is start with.
	byTime, byID = "t", "i"
)

// jobs are the place of a harness's jobs.
func jobs(ws, harness string) place { return place{ws, harness, kindOf(harness, "jobs")} }

func (p place) runs() string { return RunRows + p.ws + "#" + p.subject }

// runKey is the sort key of a run: the newest come first.
func runKey(at time.Time, stay, id string) string {
	return fmt.Sprintf("%s%015d#%s#%s", byTime, min(max(1e15-1-at.UnixMilli(), 0), 1e15-1), stay, id)
}

// posting is a run that was posted.
type posting struct {
	stay, id string
	at       time.Time
	body     []byte
}

// AddRuns keeps runs of a harness's jobs; one that was posted before is replaced.
func (s *Service) AddRuns(ctx context.Context, by workspace.Caller, harness string, body []byte) error {
	p := jobs(by.Workspace, harness)
	if err := s.own(ctx, by, p); err != nil {
		return err
	}
	in, err := clean(object(must("runs", list(MaxRuns, "runs", run))), body)
	if err != nil {
		return err
	}
	r, err := s.get(ctx, p)
	if err != nil {
		return err
	}
	posted := objects(in["runs"])
	newest := map[string]posting{} // of several with one id the last counts
	for i, fields := range posted {
		run := posting{stay: r.Stays[str(fields, "job_id")], id: str(fields, "run_id")}
		if run.stay == "" {
			return bad(fmt.Sprintf("runs[%d].job_id", i), "is no job of this harness")
		}
		if run.at, err = time.Parse(time.RFC3339, str(fields, "started_at")); err != nil {
			return err
		}
		if run.body, err = json.Marshal(fields, json.Deterministic(true)); err != nil {
			return err
		}
		if len(run.body) > maxRun {
			return bad(fmt.Sprintf("runs[%d]", i), "has %d bytes, and %d are the most", len(run.body), maxRun)
		}
		newest[run.stay+"#"+run.id] = run
	}
	runs := slices.Collect(maps.Values(newest))
	return engine.Beside(len(runs), beside, func(i int) error { return s.putRun(ctx, p, runs[i]) })
}

// putRun keeps one run: first it takes the one before away, if it began at another time, then it says where this one is, and then it is
// written. Who dies in between has not answered, and the run is posted again. Of several that are posted at once, any may be written after
// another has taken it away: so whoever has written looks where the run is now, and takes away what is not there, its own or the one before.
func (s *Service) putRun(ctx context.Context, p place, run posting) error {
	pk, key, where := p.runs(), runKey(run.at, run.stay, run.id), byID+run.stay+"#"+run.id
	expires := run.at.Add(runsFor)
	for try := range tries {
		if try > 0 {
			engine.Pause(ctx, try)
		}
		before, there, err := s.c.Rows.Get(ctx, pk, where)
		if err != nil {
			return err
		}
		var old engine.Row
		if !there || string(before.Body) != key {
			cond := engine.Absent
			if there {
				if _, err := s.c.Rows.Delete(ctx, pk, string(before.Body), engine.Always); err != nil {
					return err
				}
				cond = engine.IfRev(before.Rev)
			}
			_, err := s.c.Rows.Put(ctx, engine.Row{PK: pk, SK: where, Body: []byte(key), Expires: expires}, cond)
			if errors.Is(err, engine.ErrCondition) {
				continue
			}
			if err == nil && there {
				old, _, err = s.c.Rows.Get(ctx, pk, string(before.Body))
			}
			if err != nil {
				return err
			}
		}
		own := engine.Row{PK: pk, SK: key, Body: run.body, Expires: expires}
		if own.Rev, err = s.c.Rows.Put(ctx, own, engine.Always); err != nil {
			return err
		}
		now, _, err := s.c.Rows.Get(ctx, pk, where)
		if err != nil {
			return err
		}
		for _, r := range []engine.Row{old, own} {
			if r.Rev == 0 || r.SK == string(now.Body) {
				continue
			}
			// Where it was written anew, whoever did that looks too.
			if _, err := s.c.Rows.Delete(ctx, pk, r.SK, engine.IfRev(r.Rev)); err != nil && !errors.Is(err, engine.ErrCondition) {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("run %s of %s: %w", run.id, p.subject, engine.ErrBusy)
}

// Jobs are a harness's jobs with their runs, as they are shown.
type Jobs struct {
	View
	Jobs jsontext.Value `json:"jobs"`
	// Runs are those of the last 90 days, the newest first.
	Runs []jsontext.Value `json:"runs"`
	// NextAfter is what to ask for the rest with, "" at the end.
	NextAfter string `json:"next_after,omitzero"`
}

// ReadJobs answers a harness's jobs with at most limit of their runs, those after what an answer before said.
func (s *Service) ReadJobs(ctx context.Context, by workspace.Caller, harness, after string, limit int) (Jobs, error) {
	p := jobs(by.Workspace, harness)
	out := Jobs{Jobs: jsontext.Value("[]"), Runs: []jsontext.Value{}}
	v, r, err := s.read(ctx, by, p)
	if err != nil {
		return out, err
	}
	if out.View = v; v.Copy == nil {
		return out, nil
	}
	var copy struct {
		Jobs jsontext.Value `json:"jobs"`
	}
	if err := json.Unmarshal(v.Copy, &copy); err != nil {
		return out, fmt.Errorf("read the jobs of %s: %w", harness, err)
	}
	out.Jobs = copy.Jobs
	if after == "" {
		after = byTime
	}
	stays := map[string]bool{}
	for _, stay := range r.Stays {
		stays[stay] = true
	}
	size := 0
	oldest := runKey(s.c.Now().Add(-runsFor), "", "")
	for strings.HasPrefix(after, byTime) {
		rows, err := s.c.Rows.Query(ctx, p.runs(), after, limit+1)
		if err != nil {
			return out, err
		}
		for _, row := range rows {
			if row.SK > oldest {
				return out, nil
			}
			if _, stay, _ := strings.Cut(row.SK, "#"); !stays[strings.SplitN(stay, "#", 2)[0]] {
				after = row.SK
				continue
			}
			if size += len(row.Body); len(out.Runs) == limit || size > maxPage {
				out.NextAfter = after
				return out, nil
			}
			out.Runs, after = append(out.Runs, row.Body), row.SK
		}
		if len(rows) <= limit {
			return out, nil
		}
	}
	return out, protocol.Refuse(protocol.InvalidRequest, "after: take the next_after of the answer before")
}
