package worker

import (
	"sandboxd/files"
	"sandboxd/files/snapshot"
)

// Setup is the first message to a worker.
type Setup struct {
	Config files.Config `json:"config"`
	Place  files.Place  `json:"place"`
}

// verb is the daemon's request.
type verb string

const (
	verbSetup   verb = "setup"
	verbFacts   verb = "facts"
	verbPreview verb = "preview"
	verbDo      verb = "do"
	verbUndo    verb = "undo"
	verbSettle  verb = "settle"
	verbScan    verb = "scan"
	verbLayer   verb = "layer"   // two descriptors: the root and the layer's directory
	verbKept    verb = "kept"    // answer to a reply with Keep or Entries
	verbContent verb = "content" // answer to a reply with Need; one descriptor
)

// question is a frame from the daemon. Body: the request's content.
type question struct {
	Verb    verb           `json:"verb"`
	Setup   *Setup         `json:"setup,omitempty"`
	Request *files.Request `json:"request,omitempty"`
	Facts   *files.Facts   `json:"facts,omitempty"`
	Steps   []files.Step   `json:"steps,omitempty"`
	// Blobs says of which steps of an undo the content is kept.
	Blobs []bool         `json:"blobs,omitempty"`
	How   *files.UndoHow `json:"how,omitempty"`
	// Limits are those of a scan. Body: the root's path. One descriptor: the base manifest's.
	Limits *ScanLimits `json:"limits,omitempty"`
	Layer  *LayerOrder `json:"layer,omitempty"`
	// Refused is why the keeper did not keep.
	Refused *files.Conflict `json:"refused,omitempty"`
}

// reply is a frame from the worker. With Keep it is not the answer yet but a
// question to the keeper, with a descriptor for every true in Blobs.
type reply struct {
	Keep  bool         `json:"keep,omitempty"`
	More  bool         `json:"more,omitempty"` // further steps of the same change follow
	Steps []files.Step `json:"steps,omitempty"`
	Blobs []bool       `json:"blobs,omitempty"`
	// Need asks for the kept content of a step, counted from 1.
	Need int `json:"need,omitempty"`

	Facts   *files.Facts   `json:"facts,omitempty"`
	Preview *files.Preview `json:"preview,omitempty"`
	Result  *files.Result  `json:"result,omitempty"`
	Layer   *LayerAnswer   `json:"layer,omitempty"`
	// Made is how many steps of a change that was cut off were made.
	Made int `json:"made,omitempty"`
	// Entries: not the answer of a scan yet but a batch of entries in the body, with a descriptor for
	// each unread file.
	Entries bool `json:"entries,omitempty"`
	// Scanned is a scan's summary. Same: it is the base's, and so are all entries.
	Scanned *snapshot.Summary `json:"scanned,omitempty"`
	Same    bool              `json:"same,omitempty"`
	// Beyond is why a scan exceeds its limits.
	Beyond string `json:"beyond,omitempty"`
	// Done is how many steps were carried out before Conflict or Error.
	Done     int             `json:"done,omitempty"`
	Conflict *files.Conflict `json:"conflict,omitempty"`
	Error    string          `json:"error,omitempty"`
	// OldLen is where in the body a preview's new content begins.
	OldLen int `json:"old_len,omitempty"`
}
