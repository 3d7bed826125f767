package main

import (
	"context"
	"fmt"

	"github.com/chipschat/chips-aws/shared/client"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// place is a person's room with a harness of theirs, in a workspace.
type place struct {
	workspace, space string
	person           client.API
	personID         string
	harness          client.API
	harnessID, agent string
}

// newWorkspace makes a workspace with its owner's place.
func (s *server) newWorkspace(ctx context.Context, name string) (place, error) {
	w, err := s.admin().CreateWorkspace(ctx, name, "Arjun")
	if err != nil {
		return place{}, fmt.Errorf("make a workspace: %w", err)
	}
	if w.Key == "" {
		return place{}, fmt.Errorf("the server gives people no keys: CHIPS_PERSON_KEYS=1 was not heeded")
	}
	return s.newPlace(ctx, w.WorkspaceID, w.PersonID, w.Key)
}

// join adds a person to a place's workspace, with a place of their own.
func (s *server) join(ctx context.Context, p place, name string) (place, error) {
	one, err := p.person.AddPerson(ctx, name, protocol.Member)
	if err != nil {
		return place{}, fmt.Errorf("add a person: %w", err)
	}
	return s.newPlace(ctx, p.workspace, one.PersonID, one.Key)
}

func (s *server) newPlace(ctx context.Context, workspace, personID, key string) (place, error) {
	person := client.API{URL: s.url, Credential: client.Bearer(key)}
	h, err := person.AddHarness(ctx, "Scout")
	if err != nil {
		return place{}, fmt.Errorf("make a harness: %w", err)
	}
	return place{
		workspace: workspace, space: h.SpaceID, person: person, personID: personID,
		harness: client.API{URL: s.url, Credential: client.Bearer(h.Token)}, harnessID: h.HarnessID, agent: h.AgentID,
	}, nil
}

// at is the place as another server over the same data has it.
func (p place) at(s *server) place {
	p.person.URL, p.harness.URL = s.url, s.url
	return p
}

// readBy is the place as another person in it has it.
func (p place) readBy(one client.Person) place {
	p.person = client.API{URL: p.person.URL, Credential: client.Bearer(one.Key)}
	p.personID = one.PersonID
	return p
}
