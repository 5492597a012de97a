package analysis

// Bounds. Text beyond them is not read and yields a Doubt.
const (
	maxBytes   = 64 << 10 // of text
	maxDepth   = 100      // brackets and compound commands within each other
	maxNested  = 6        // scripts within words (bash -c) and wrappers within each other
	maxCalls   = 1000     // simple commands
	maxWords   = 4000     // words
	maxScripts = 100      // scripts within words
	maxGlobs   = 256      // words with globs
	maxUnroll  = 100      // simple commands that loops are unrolled to
)

// Place is the environment of a line. Both paths are absolute, or "" for unknown.
type Place struct {
	Cwd  string
	Home string
}

// Script is the analysis of a line.
type Script struct {
	Text   string
	Calls  []*Call  // in the order of the text, a wrapper before its command
	Redirs []*Redir // all redirections, including those of calls
	Doubts []Doubt
	// Funcs are the names of the functions that the text declares.
	Funcs []string
	// Cut is true if the text has more commands or words than were read.
	Cut bool
	// Background is true if the line does not wait for one of its commands.
	Background bool
	// Unrolled is true if a loop was read as its body, once for each of its words.
	Unrolled bool
	// Bombs are the functions that call themselves in a pipeline or in the background.
	Bombs []string

	root node // nil unless the whole text can be written back
}

// Doubt is a piece of the text that cannot be analysed or needs a person's approval.
type Doubt struct {
	Why    string
	Offset int
	End    int
	// Deceptive marks text that a reader may mistake for another: control characters, invisible
	// ones, a continuation inside a comment.
	Deceptive bool
	// Unread marks text that the parser cannot read.
	Unread bool
}

// Call is one simple command.
type Call struct {
	Args    []Word
	Assigns []Assign
	Redirs  []*Redir
	// Dirs are the directories in which the call may run.
	Dirs Dirs
	// Via names the wrappers that run the call, outermost first: "sudo", "xargs".
	Via []string
	// Wrapped are the calls that this call runs, if it is a known wrapper.
	Wrapped []*Call
	// Transparent is true if the call only runs Wrapped[0], whose words are the last ones of Args,
	// starting at WrappedAt.
	Transparent bool
	WrappedAt   int
	// Script is the script in the call's words, for bash -c and similar; its calls are part of the
	// outer Script's calls too.
	Script *Script
	// Subst is true if the call is part of a command or process substitution.
	Subst bool
	// Binds is true if the call only assigns to variables of the line.
	Binds bool
	// At is the index in the words of the call that runs this one at which its own begin.
	At int
	// Piped is true if the call's input is the output of another call of the line.
	Piped bool
	// Offset and End are byte offsets in the text. For a script within a word they are those of
	// the word.
	Offset, End int
}

// Name returns the command's name after quote removal, or "" if it is unknown or missing.
func (c *Call) Name() string {
	if len(c.Args) == 0 || !c.Args[0].Known() {
		return ""
	}
	return c.Args[0].Text
}

// Literal reports whether every word, assignments included, is literal.
func (c *Call) Literal() bool {
	for i := range c.Args {
		if c.Args[i].Kind != Literal {
			return false
		}
	}
	for i := range c.Assigns {
		if c.Assigns[i].Odd || c.Assigns[i].Value.Kind != Literal {
			return false
		}
	}
	return true
}

// Argv returns the texts of the words. ok is false if one of them is unknown or a glob.
func (c *Call) Argv() (argv []string, ok bool) {
	argv = make([]string, len(c.Args))
	ok = true
	for i := range c.Args {
		argv[i] = c.Args[i].Text
		if k := c.Args[i].Kind; k != Literal && k != Computed {
			ok = false
		}
	}
	return argv, ok
}

// Assign is a NAME=value in front of a command, or alone.
type Assign struct {
	Name  string
	Value Word
	// Odd marks any other form than NAME=value: NAME+=, an index, an array.
	Odd bool
}

// RedirKind is the type of a redirection.
type RedirKind uint8

// The kinds of redirections. The zero value writes.
const (
	RedirWrite  RedirKind = iota // opens a file for writing, or may do so
	RedirRead                    // opens a file for reading
	RedirNull                    // to or from /dev/null
	RedirDup                     // copies or closes one of the descriptors 0 to 2
	RedirText                    // here-string or here-document
	RedirSocket                  // /dev/tcp or /dev/udp
)

// Redir is one redirection.
type Redir struct {
	Kind   RedirKind
	Op     string // as written: ">", "2>&1" has the Op ">&"
	FD     string // as written, "" for the default
	Target Word
	Dirs   Dirs
	Offset int
	End    int
}
