package display

import "io"

// Output is a writer that remembers the first error of W, so that a program can
// print without a look at each error and still not end well when what it printed
// is lost: a full disk, a closed pipe.
type Output struct {
	W   io.Writer
	err error
}

// Write passes on; after an error it writes no more and returns that.
func (o *Output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.W.Write(p)
	o.err = err
	return n, err
}

// Err is the first error, nil if all was written.
func (o *Output) Err() error { return o.err }
