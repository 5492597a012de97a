package worker_test

import (
	"errors"

	"sandboxd/files"
)

// answer is what an operation came to in one word: "ok", or the reason of the
// conflict.
func answer(err error) string {
	var c *files.Conflict
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &c):
		return string(c.Reason)
	}
	return err.Error()
}
