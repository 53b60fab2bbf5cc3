package bench

import (
	"lockcost/bench/doctor"
	"lockcost/env/awake"
	"lockcost/env/link"
	"lockcost/env/reexec"
)

// Parts are the processes of their own that a run needs. A program that
// calls Run hands them to reexec.Main first of all.
func Parts() []reexec.Part {
	return []reexec.Part{awake.Part(), doctor.Part(), link.Part()}
}
