package httpapi

import (
	"strings"

	"github.com/chipschat/chips-aws/shared/managed"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// jobParam is the name in a pattern that stands for a job's id, which its harness gave it.
const jobParam = "job"

// managedRoutes are those of what is managed from Chips: of each kind its copy, and the changes that may be asked.
func (a *api) managedRoutes() []route {
	var routes []route
	for _, k := range managed.Kinds {
		base, subject := "/v1/agents/{agt}/", protocol.PrefixAgent
		if k.OfHarness {
			base, subject = "/v1/harnesses/{hrn}/", protocol.PrefixHarness
		}
		get := a.getCopy(subject, k.Path)
		if k.Path == "jobs" {
			get = a.getJobs
		}
		routes = append(routes, route{"PUT", base + k.Path, harness, a.putCopy(subject, k.Path)}, route{"GET", base + k.Path, members, get})
		for _, ask := range k.Asks {
			routes = append(routes, route{"POST", base + k.Path + "/" + ask.Path, people, a.askChange(subject, k.Path, ask.Path)})
		}
	}
	return append(routes, route{"POST", "/v1/harnesses/{hrn}/jobs/runs", harness, a.addRuns})
}

func (a *api) putCopy(subject, path string) func(*call) (any, error) {
	return func(c *call) (any, error) {
		return struct{}{}, a.Managed.Put(c.ctx, c.caller, c.params[subject], path, c.body)
	}
}

func (a *api) getCopy(subject, path string) func(*call) (any, error) {
	return func(c *call) (any, error) {
		return a.Managed.Read(c.ctx, c.caller, c.params[subject], path)
	}
}

func (a *api) askChange(subject, path, ask string) func(*call) (any, error) {
	return func(c *call) (any, error) {
		of := ""
		if strings.Contains(ask, "{"+jobParam+"}") {
			of = c.params[jobParam]
		}
		asked, err := a.Managed.Ask(c.ctx, c.caller, c.params[subject], path, ask, of, c.body)
		return accepted{asked}, err
	}
}

func (a *api) addRuns(c *call) (any, error) {
	return struct{}{}, a.Managed.AddRuns(c.ctx, c.caller, c.params[protocol.PrefixHarness], c.body)
}

// getJobs answers a harness's jobs with a page of their runs.
func (a *api) getJobs(c *call) (any, error) {
	at, err := readCursor(c)
	if err != nil {
		return nil, err
	}
	return a.Managed.ReadJobs(c.ctx, c.caller, c.params[protocol.PrefixHarness], at.after, at.limit)
}
