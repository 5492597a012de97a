package watch

import "time"

// Settling is how old a change must be before equal times of an object mean an equal state: the clock of a file system
// ticks every few milliseconds.
const Settling = 50 * time.Millisecond

// Settled reports whether a change at ctime (nanoseconds) was that old when the times were asked for. Where nothing is
// below the second, the clock may count seconds.
func Settled(ctime int64, asked time.Time) bool {
	age := asked.Sub(time.Unix(0, ctime))
	return age >= Settling && (ctime%int64(time.Second) != 0 || age >= 2*time.Second)
}
