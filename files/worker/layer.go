package worker

import (
	"context"
	"errors"
	"os"

	"sandboxd/files"
	"sandboxd/layer"
)

// LayerVerb is an act on a layer, whose command has ended.
type LayerVerb string

const (
	// LayerTake makes the change set; see layer.Layer.Take.
	LayerTake LayerVerb = "take"
	// LayerLand lands the paths of the order, all without any, or all but those Beside. The caller has judged the set.
	LayerLand LayerVerb = "land"
	// LayerRevert finishes a landing that a death cut off, and takes back what landed since the order's At.
	LayerRevert LayerVerb = "revert"
	// LayerDisplaced gives the keeper each regular file that the landing displaced, in a step with the file's path
	// below the root, and returns those that another program has written to since.
	LayerDisplaced LayerVerb = "displaced"
)

// LayerOrder is an act on a layer. Digest is that of the judged set, which a landing must still have.
type LayerOrder struct {
	Verb   LayerVerb    `json:"verb"`
	Digest string       `json:"digest,omitempty"`
	Paths  []layer.Name `json:"paths,omitempty"`
	Beside []layer.Name `json:"beside,omitempty"` // see layer.Layer.LandBeside
	At     []bool       `json:"at,omitempty"`     // see layer.Layer.Restore
}

// LayerAnswer is the result of an order.
type LayerAnswer struct {
	// Conflicts are the reasons for which nothing landed.
	Conflicts []layer.Note `json:"conflicts,omitempty"`
	Late      []layer.Name `json:"late,omitempty"`
}

// Layer carries out an order on the layer in the directory dir, over root. Both are opened in the caller's mount
// namespace, where they are on one mount; the worker's sandbox has to permit changes below both. It returns an
// *layer.ConflictError where nothing changed because of a conflict. below are the directories of the held layers that
// LayerTake is to take into account, the lowest first.
func (c *Client) Layer(
	ctx context.Context, root, dir *os.File, order LayerOrder, keeper files.Keeper, below ...*os.File,
) (LayerAnswer, error) {
	q := question{Verb: verbLayer, Layer: &order}
	r, _, err := c.ask(ctx, asked{question: q, keeper: keeper, fds: append([]*os.File{root, dir}, below...)})
	if err != nil {
		return LayerAnswer{}, err
	}
	if r.Layer == nil {
		return LayerAnswer{}, c.fail(errors.New("no answer about the layer"))
	}
	if len(r.Layer.Conflicts) > 0 {
		return *r.Layer, &layer.ConflictError{Conflicts: r.Layer.Conflicts}
	}
	return *r.Layer, nil
}
