package httpapi

import (
	"context"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// restartHarness asks a harness to restart, on those of its sockets that listen for it (contract U-46). Its status is set before they are
// told, so that their next word comes after it.
func (a *api) restartHarness(c *call) (any, error) {
	ws, id := c.caller.Workspace, c.params[protocol.PrefixHarness]
	err := a.see(c, func(s *workspace.State) error { return refusal(workspace.MayRestart(s, c.caller, id)) })
	if err != nil {
		return nil, err
	}
	listens, err := a.Sessions.Listens(c.ctx, ws, id, protocol.FrameRestart)
	if err != nil {
		return nil, err
	}
	away := protocol.Refuse(protocol.InvalidRequest, "nothing of the harness is connected that listens for a restart")
	if !listens {
		return nil, away
	}
	if _, err := a.do(c, workspace.Draft(&workspace.RestartDraft{HarnessID: id})); err != nil {
		return nil, err
	}
	frame, err := json.Marshal(protocol.Restart{Frame: protocol.FrameRestart, AskedBy: c.caller.ID, AskedAt: protocol.At(a.Now())})
	if err != nil {
		return nil, err
	}
	if took, err := a.Sessions.Tell(c.ctx, ws, id, protocol.FrameRestart, frame); err != nil || took == 0 {
		return nil, orAway(a.back(context.WithoutCancel(c.ctx), ws, id), err, away)
	}
	return accepted{struct {
		Status string `json:"status"`
	}{workspace.StatusRestarting}}, nil
}

// back has a harness read as before, which could not be asked.
func (a *api) back(ctx context.Context, ws, id string) error {
	_, err := a.Engine.Do(ctx, ws, workspace.OfChips(ws, &workspace.BackDraft{HarnessID: id}))
	return err
}

// orAway is the first fault, else that nothing listens.
func orAway(back, told error, away *protocol.Error) error {
	switch {
	case told != nil:
		return told
	case back != nil:
		return back
	}
	return away
}
