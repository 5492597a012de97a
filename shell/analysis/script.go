package analysis

// Bounds. What goes beyond them is not read, and a Doubt says so.
const (
	MaxBytes   = 64 << 10 // of text
	MaxDepth   = 100      // brackets and compound commands within each other
	MaxNested  = 6        // scripts within words (bash -c) and wrappers within each other
	MaxCalls   = 1000     // simple commands
	MaxWords   = 4000     // words
	MaxScripts = 100      // scripts within words
	MaxGlobs   = 256      // words with globs
	MaxUnroll  = 100      // simple commands that loops are unrolled to
)

// Place is where a line would run. Both paths are absolute, or "" for unknown.
type Place struct {
	Cwd  string
	Home string
}

// Script is what was understood of a line.
type Script struct {
	Text   string
	Calls  []*Call  // in the order of the text, a wrapper before what it runs
	Redirs []*Redir // all redirections, those of calls included
	Doubts []Doubt
	// Funcs are the names of functions that the text declares.
	Funcs []string
	// Cut says that there are more commands or words than were read.
	Cut bool
	// Unrolled says that a loop was read as its body, once for every word it goes over.
	Unrolled bool
	// Bombs are the functions that call themselves in a pipeline or in the background.
	Bombs []string

	root node // nil unless the whole text can be written again
}

// Doubt is a piece of the text that is not understood, or that cannot run
// without a person: a reason to ask.
type Doubt struct {
	Why    string
	Offset int
	End    int
	// Deceptive marks text that a reader may see as something else: control
	// characters, invisible ones, a continuation inside a comment.
	Deceptive bool
}

// Call is one simple command.
type Call struct {
	Args    []Word
	Assigns []Assign
	Redirs  []*Redir
	// Dirs are the directories in which it may run.
	Dirs Dirs
	// Via names the wrappers that run it, outermost first: "sudo", "xargs".
	Via []string
	// Wrapped is what this call runs, when it is a wrapper that was looked through.
	Wrapped []*Call
	// Transparent says that the call does nothing but run Wrapped[0], whose
	// words are the last ones of Args, starting at WrappedAt.
	Transparent bool
	WrappedAt   int
	// Script is the script that the call's words hold, for bash -c and its like;
	// its calls are part of the outer Script's calls too.
	Script *Script
	// Subst says that it stands in a command or process substitution.
	Subst bool
	// Piped says that its input is the output of another call of the line.
	Piped bool
	// Offset and End are bytes of the text; for what a word holds, those of the word.
	Offset, End int
}

// Name is the command's name as written after quote removal, "" when it is not
// known or there is none.
func (c *Call) Name() string {
	if len(c.Args) == 0 || !c.Args[0].Known() {
		return ""
	}
	return c.Args[0].Text
}

// Literal says whether every word, assignment included, is literal.
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

// Argv returns the known words; ok is false when one is not known or is a glob.
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
	// Odd marks what is more than NAME=value: NAME+=, an index, an array.
	Odd bool
}

// RedirKind says what a redirection does.
type RedirKind uint8

// The kinds of redirections. The zero value writes.
const (
	RedirWrite  RedirKind = iota // opens a file for writing, or might
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
