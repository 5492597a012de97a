package display

import "io"

// Output is a writer that records the first error of W. A program can ignore the error of each
// print and check Err once at its end, so that it fails if a full disk or a closed pipe lost
// its output.
type Output struct {
	W   io.Writer
	err error
}

// Write writes p to W. After an error it writes nothing and returns that error.
func (o *Output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.W.Write(p)
	o.err = err
	return n, err
}

// Err returns the first error, or nil if everything was written.
func (o *Output) Err() error { return o.err }
