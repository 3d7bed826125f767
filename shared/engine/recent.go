package engine

// keyID is an idempotency key and whose it is.
type keyID struct{ sender, key string }

// recent are the keys of the newest commits of a log, so that most repeats are seen without asking the table.
type recent struct {
	first map[keyID]int64
	order []keyID // the oldest first
	// from is a seq: the key of every commit after it that was taken in is known.
	from int64
	most int
}

// add notes the key of the next commit.
func (r *recent) add(c Commit) {
	if c.Key == "" {
		return
	}
	if r.first == nil {
		r.first = map[keyID]int64{}
	}
	id := keyID{c.Sender, c.Key}
	r.first[id] = c.First
	r.order = append(r.order, id)
	if len(r.order) > r.most {
		r.from = r.first[r.order[0]]
		delete(r.first, r.order[0])
		r.order = r.order[1:]
	}
}
