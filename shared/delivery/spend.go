package delivery

import (
	"strconv"

	"github.com/chipschat/chips-aws/shared/workspace"
)

// spendBytes is how many bytes the facts of a job's spend take as JSON at most.
const spendBytes = 160

// spent is what a note says of what the room's job has spent (contract A-4, U-75).
func spent(room *workspace.Room) string {
	job, ceiling := room.Job, room.JobCeiling()
	words := "This job has spent " + job.Spent.Words() + " of the " + ceiling.Words() + " this space allows a job; at " + ceiling.Words() +
		" Chips holds the agents until a person acts."
	switch job.Uncounted {
	case 0:
	case 1:
		words += " 1 run reported no cost and is not counted."
	default:
		words += " " + strconv.Itoa(job.Uncounted) + " runs reported no cost and are not counted."
	}
	if room.MostlySpent() {
		words += " Most of it is spent: finish the step you are on, and say what is left."
	}
	return words
}
