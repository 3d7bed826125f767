package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/workspace"
)

// A snapshot is rows of S#<workspace>: parts of the compressed state, and a row of its own that says how many they are and what
// they hash to. That one is written last, so a snapshot that was cut short has none. Their keys count down, so that rising order
// is newest first and the newest at or below a seq is one query: <maxSeq - seq>#<fold version>#<part>, part 000 being the row that counts.
const (
	maxSeq    = 999_999_999_999
	newest    = maxSeq
	chunkSize = 256 << 10
)

// snapshot is the row that says what a snapshot is made of.
type snapshot struct {
	Seq int64 `json:"seq"`
	// Commits is how many the log has up to Seq.
	Commits int64  `json:"commits"`
	Size    int    `json:"size"`
	Chunks  int    `json:"chunks"`
	SHA256  string `json:"sha256"`
}

func snapshotPK(ws string) string { return "S#" + ws }

// snapshotSK is the key of a snapshot's row; those of another fold version stand beside it.
func snapshotSK(seq int64, part int) string {
	return fmt.Sprintf("%s%03d", snapshotPrefix(seq), part)
}

func snapshotPrefix(seq int64) string {
	return fmt.Sprintf("%012d#%d#", maxSeq-seq, workspace.FoldVersion)
}

// past is a key above all rows of the snapshot that sk is one of, and below those of the next.
func past(sk string) string { return sk[:strings.LastIndexByte(sk, '#')+1] + "~" }

// encodeState writes a state, the same one always alike.
func encodeState(s *workspace.State) ([]byte, error) {
	raw, err := json.Marshal(s, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("write state of %s: %w", s.ID, err)
	}
	return raw, nil
}

func decodeState(raw []byte) (*workspace.State, error) {
	s := &workspace.State{}
	if err := json.Unmarshal(raw, s); err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	return s, nil
}

// clone is a state that shares nothing with s.
func clone(s *workspace.State) (*workspace.State, error) {
	raw, err := encodeState(s)
	if err != nil {
		return nil, err
	}
	return decodeState(raw)
}

// write puts a state down as a snapshot. A failure leaves none, or at worst one that is whole.
func (g *Engine) write(ctx context.Context, ws string, m snapshot, raw []byte) (snapshot, error) {
	packed := zstdEncoder.EncodeAll(raw, nil)
	sum := sha256.Sum256(packed)
	m.Size, m.SHA256 = len(packed), hex.EncodeToString(sum[:])
	for chunk := range slices.Chunk(packed, chunkSize) {
		m.Chunks++
		if _, err := g.table.Put(ctx, Row{PK: snapshotPK(ws), SK: snapshotSK(m.Seq, m.Chunks), Body: chunk}, Always); err != nil {
			return m, fmt.Errorf("write snapshot of %s: %w", ws, err)
		}
	}
	body, err := json.Marshal(m)
	if err != nil {
		return m, err
	}
	if _, err := g.table.Put(ctx, Row{PK: snapshotPK(ws), SK: snapshotSK(m.Seq, 0), Body: body}, Always); err != nil {
		return m, fmt.Errorf("write snapshot of %s: %w", ws, err)
	}
	return m, nil
}

// restore answers the newest usable snapshot at or below a seq, folded, or the empty workspace. What is torn, damaged or of
// another version is passed over.
func (g *Engine) restore(ctx context.Context, ws string, seq int64) (fold, error) {
	after := atOrBelow(seq)
	for {
		m, rows, err := g.nextSnapshot(ctx, ws, after)
		if err != nil {
			return fold{}, err
		}
		if len(rows) == 0 {
			return fold{state: workspace.New(ws)}, nil
		}
		if s, err := assemble(ws, m, rows[1:]); err == nil {
			return fold{state: s, commits: m.Commits, last: m}, nil
		}
		after = past(rows[0].SK)
	}
}

// atOrBelow is a key below those of the snapshots at or below a seq, and above all others.
func atOrBelow(seq int64) string { return fmt.Sprintf("%012d", maxSeq-min(seq, maxSeq)) }

// nextSnapshot reads the rows of the snapshot after a key, an older one, as many as there are. It is the zero snapshot where the row that counts
// is missing or another version's. No rows are the end.
func (g *Engine) nextSnapshot(ctx context.Context, ws, after string) (snapshot, []Row, error) {
	rows, err := g.table.Query(ctx, snapshotPK(ws), after, 2) // nearly all are one row that counts and one part
	if err != nil {
		return snapshot{}, nil, fmt.Errorf("read snapshots of %s: %w", ws, err)
	}
	if len(rows) == 0 {
		return snapshot{}, nil, nil
	}
	m, ok := readMeta(rows[0])
	if !ok || len(rows) > m.Chunks {
		return m, rows, nil
	}
	more, err := g.table.Query(ctx, snapshotPK(ws), rows[len(rows)-1].SK, 1+m.Chunks-len(rows))
	if err != nil {
		return snapshot{}, nil, fmt.Errorf("read snapshots of %s: %w", ws, err)
	}
	return m, append(rows, more...), nil
}

// readMeta reads the row that counts; false when it is another row, or of another fold version.
func readMeta(row Row) (snapshot, bool) {
	var m snapshot
	if err := json.Unmarshal(row.Body, &m); err != nil || row.SK != snapshotSK(m.Seq, 0) {
		return snapshot{}, false
	}
	if m.Chunks < 1 || m.Chunks > 999 {
		return snapshot{}, false
	}
	return m, true
}

var errTorn = errors.New("snapshot is not whole")

// assemble makes a state of a snapshot's rows.
func assemble(ws string, m snapshot, rows []Row) (*workspace.State, error) {
	if m.Chunks == 0 || len(rows) < m.Chunks {
		return nil, errTorn
	}
	var packed bytes.Buffer
	for i, row := range rows[:m.Chunks] {
		if row.SK != snapshotSK(m.Seq, i+1) {
			return nil, errTorn
		}
		packed.Write(row.Body)
	}
	if sum := sha256.Sum256(packed.Bytes()); hex.EncodeToString(sum[:]) != m.SHA256 {
		return nil, errTorn
	}
	raw, err := snapshotDecoder.DecodeAll(packed.Bytes(), nil)
	if err != nil {
		return nil, err
	}
	s, err := decodeState(raw)
	if err != nil {
		return nil, err
	}
	if s.ID != ws || s.Seq != m.Seq {
		return nil, errTorn
	}
	return s, nil
}
