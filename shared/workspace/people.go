package workspace

import (
	"slices"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Limits of what is known of a person.
const (
	maxLabels   = 50
	maxTimeZone = 64
)

// workspaceOpened opens a workspace with its owner, by the operator.
func (d *deciding) workspaceOpened() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*NameDraft)
	if !ok || d.c.By.Kind != protocol.KindSystem {
		return forbidden("only the operator opens a workspace")
	}
	if d.s.Seq != 0 {
		return d.bad("the workspace is open already")
	}
	name := draft.Name
	if name != "" {
		clean, bad := CleanName("name", name, MaxName)
		if bad != nil {
			return d.field(bad)
		}
		name = clean
	}
	owner, bad := CleanName("owner.name", draft.OwnerName, MaxName)
	if bad != nil {
		return d.field(bad)
	}
	d.answer(protocol.System, "", &protocol.WorkspaceOpened{Name: name})
	d.emit(protocol.System, "", &protocol.PersonAdded{PersonID: d.mint(protocol.PrefixPerson), Name: owner, Role: protocol.Owner})
	return nil
}

func (d *deciding) workspaceRenamed() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*NameDraft)
	if !ok {
		return d.bad("name is missing")
	}
	if err := d.needAdmin(); err != nil {
		return err
	}
	name, bad := CleanName("name", draft.Name, MaxName)
	if bad != nil {
		return d.field(bad)
	}
	if name != d.s.Name {
		d.answer(d.sender(), "", &protocol.WorkspaceRenamed{Name: name, Previous: d.s.Name})
	}
	return nil
}

func validRole(r protocol.Role) bool {
	switch r {
	case protocol.Owner, protocol.Admin, protocol.Member, protocol.Guest:
		return true
	}
	return false
}

func (d *deciding) personAdded() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*PersonDraft)
	if !ok {
		return d.bad("name is missing")
	}
	if err := d.needAdmin(); err != nil {
		return err
	}
	if draft.Name == nil {
		return d.bad("name is missing")
	}
	name, bad := CleanName("name", *draft.Name, MaxName)
	if bad != nil {
		return d.field(bad)
	}
	if draft.Role == nil || !validRole(*draft.Role) {
		return d.bad("role is owner, admin, member or guest")
	}
	if *draft.Role == protocol.Owner && d.person().Role != protocol.Owner {
		return forbidden("only an owner makes an owner")
	}
	d.answer(d.sender(), "", &protocol.PersonAdded{PersonID: d.mint(protocol.PrefixPerson), Name: name, Role: *draft.Role})
	return nil
}

// personUpdated changes a person: their own name and zone themselves, anybody's name, role and labels by an owner or admin.
func (d *deciding) personUpdated() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*PersonDraft)
	if !ok {
		return d.bad("nothing is asked for")
	}
	self, admin := draft.PersonID == d.c.By.ID, d.person().runsThings()
	if !self && !admin || (draft.Role != nil || draft.Labels != nil) && !admin {
		return forbidden("only an owner or an admin may do this")
	}
	old := d.s.Person(draft.PersonID)
	if old == nil {
		return notFound("no such person")
	}
	p := *old
	if err := d.changePerson(&p, draft); err != nil {
		return err
	}
	if p.Name == old.Name && p.Role == old.Role && p.TimeZone == old.TimeZone && slices.Equal(p.Labels, old.Labels) {
		return nil
	}
	updated := &protocol.PersonUpdated{PersonID: p.ID, Name: p.Name, Role: p.Role, Labels: p.Labels, TimeZone: p.TimeZone}
	if p.Name != old.Name {
		updated.Previous = old.Name
	}
	d.answer(d.sender(), "", updated)
	return nil
}

func (d *deciding) changePerson(p *Person, draft *PersonDraft) *protocol.Error {
	if draft.Name != nil {
		name, bad := CleanName("name", *draft.Name, MaxName)
		if bad != nil {
			return d.field(bad)
		}
		p.Name = name
	}
	if draft.Role != nil && *draft.Role != p.Role {
		switch {
		case !validRole(*draft.Role):
			return d.bad("role is owner, admin, member or guest")
		case (*draft.Role == protocol.Owner || p.Role == protocol.Owner) && d.person().Role != protocol.Owner:
			return forbidden("only an owner makes or unmakes an owner")
		case p.Role == protocol.Owner && d.owners() == 1:
			return d.bad("role: the last owner stays an owner")
		}
		p.Role = *draft.Role
	}
	if draft.Labels != nil {
		labels, bad := words("labels", *draft.Labels, maxLabels)
		if bad != nil {
			return d.field(bad)
		}
		p.Labels = labels
	}
	if draft.TimeZone != nil {
		if len(*draft.TimeZone) > maxTimeZone {
			return d.bad("time_zone is over %d bytes", maxTimeZone)
		}
		p.TimeZone = *draft.TimeZone
	}
	return nil
}

func (d *deciding) owners() int {
	n := 0
	for _, p := range d.s.People {
		if !p.Removed && p.Role == protocol.Owner {
			n++
		}
	}
	return n
}

// words checks a list of names: each clean, none twice, at most so many. The order stays.
func words(field string, list []string, most int) ([]string, *protocol.Error) {
	if len(list) > most {
		return nil, protocol.Refuse(protocol.InvalidRequest, "%s has %d entries, more than the limit of %d", field, len(list), most)
	}
	clean := []string{}
	for _, w := range list {
		c, err := CleanName(field, w, MaxName)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(clean, c) {
			clean = append(clean, c)
		}
	}
	return clean, nil
}

// maxHandedOver is how many harnesses can change hands when their owner is removed.
const maxHandedOver = 200

// personRemoved takes a person out of the workspace and all rooms; their harnesses go to the remover.
func (d *deciding) personRemoved() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.PersonRemoved)
	if !ok {
		return d.bad("person_id is missing")
	}
	if err := d.needAdmin(); err != nil {
		return err
	}
	p := d.s.Person(draft.PersonID)
	switch {
	case p == nil:
		return notFound("no such person")
	case p.ID == d.c.By.ID:
		return d.bad("you cannot remove yourself: another owner or admin can")
	case p.Role == protocol.Owner && d.person().Role != protocol.Owner:
		return forbidden("only an owner removes an owner")
	}
	var theirs []*Harness
	for _, h := range d.s.Harnesses {
		if h.OwnerID == p.ID && !h.Removed {
			theirs = append(theirs, h)
		}
	}
	if len(theirs) > maxHandedOver {
		return d.bad("the person owns %d harnesses, more than the %d that can change hands at once", len(theirs), maxHandedOver)
	}
	slices.SortFunc(theirs, func(a, b *Harness) int { return compare(a.ID, b.ID) })
	for _, h := range theirs {
		d.emit(d.sender(), "", &protocol.HarnessUpdated{HarnessID: h.ID, DisplayName: h.Name, OwnerID: d.c.By.ID, Capabilities: h.Capabilities})
	}
	d.answer(d.sender(), "", &protocol.PersonRemoved{PersonID: p.ID})
	return nil
}
