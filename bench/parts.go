package bench

import (
	"lockcost/bench/doctor"
	"lockcost/env/link"
	"lockcost/env/reexec"
)

// Parts are the processes of their own that a run needs. A program that
// calls Run hands them to reexec.Main first of all.
func Parts() []reexec.Part {
	return []reexec.Part{doctor.Part(), link.Part()}
}
