package session_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Sockets come and go, with and without a word, sweeps are up to a minute late, one after the other or two at once, and their processes
// are replaced. Whoever is there and answers is pinged within ten minutes, oftener only where a process is new, and never closed;
// what is gone is forgotten; the list holds the workspaces with sockets and in the end no other.
func TestKeepaliveModel(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { keepaliveModel(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func keepaliveModel(t *testing.T, random *rand.Rand) {
	var mu sync.Mutex
	below := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n)
	}
	g := newGateway(t, slowRows{open(t), below})
	type client struct {
		ws, id string
		s      *socket
	}
	var clients []client
	done := make(chan struct{})
	var running sync.WaitGroup
	for range 1 + below(2) {
		running.Go(func() {
			k := g.keepalive()
			for {
				select {
				case <-done:
					return
				case <-time.After(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute + time.Duration(below(59))*time.Second))):
				}
				if below(20) == 0 {
					k = g.keepalive()
				}
				if err := k.Run(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 150 {
		time.Sleep(time.Duration(below(60)) * time.Second)
		if len(clients) > 0 && below(3) == 0 { // one goes, and its $disconnect may be lost
			n := below(len(clients))
			c := clients[n]
			clients = append(clients[:n], clients[n+1:]...)
			g.api.mu.Lock()
			c.s.gone = true
			g.api.mu.Unlock()
			if below(2) == 0 {
				if err := g.sessions.Forget(context.Background(), c.ws, c.id); err != nil {
					t.Error(err)
				}
			}
			continue
		}
		ws, id := fmt.Sprint("ws_", below(6)), fmt.Sprint("c", i)
		clients = append(clients, client{ws, id, g.open(ws, id, `"ping"`, true)})
	}
	time.Sleep(12 * time.Minute)
	for _, c := range clients {
		g.api.mu.Lock()
		s := *c.s
		g.api.mu.Unlock()
		if s.closed != 0 || !g.has(c.ws, c.id) {
			t.Errorf("%s of %s was there and is closed with %d", c.id, c.ws, s.closed)
		}
		if longest := max(s.longest, time.Since(s.pinged)); longest >= 10*time.Minute {
			t.Errorf("%s of %s heard nothing for %v", c.id, c.ws, longest)
		}
	}
	listed := map[string]bool{}
	for _, ws := range g.listed() {
		listed[ws] = true
	}
	for _, c := range clients {
		if !listed[c.ws] {
			t.Errorf("%s has a socket and is not listed", c.ws)
		}
	}
	for _, c := range clients {
		g.api.mu.Lock()
		c.s.gone = true
		g.api.mu.Unlock()
	}
	time.Sleep(20 * time.Minute)
	for i := range 6 {
		rows, err := g.table.Query(context.Background(), fmt.Sprint("X#ws_", i), "", 100)
		if err != nil || len(rows) > 0 {
			t.Errorf("ws_%d: %d connections are left, %v", i, len(rows), err)
		}
	}
	if left := g.listed(); len(left) > 0 {
		t.Errorf("%q are listed, with nobody there", left)
	}
	close(done)
	running.Wait()
}
