package safelist

// Entry is what is known of one command, or of one sub-command ("git log").
type Entry struct {
	// Name is the command, with its sub-commands.
	Name string
	// Manual says what the entry was reviewed against.
	Manual string
	// Options lists the harmless options, blank-separated:
	//
	//	-i                       takes no value
	//	-e,--regexp=TEXT         takes a value of that class, attached or in the next word
	//	--color[=TEXT]           may have a value, attached only
	//	-NUM                     a number, as in head -5
	Options string
	// Never explains options that are not harmless: "-o,--output": "writes a file".
	Never map[string]string
	// Operands lists the classes of the operands; "..." repeats the last.
	Operands string
	// Least is the smallest number of operands.
	Least int
	// Unless lists options that make the first operand's class fall away: the
	// pattern of grep where -e gave it.
	Unless string
	// Globs says which unquoted globs may stand among the operands.
	Globs Globs
	// Shows says which values, found out only by running, may stand in its words.
	Shows Shows
	// Builtin says that bash itself has the command, so that no file is run.
	Builtin bool
	// Alias says that the command is one only by an alias of interactive shells.
	Alias bool
	// Raw says that the command does not take options by getopt: its words are
	// judged by Check alone, which also names the paths.
	Raw bool
	// Here says that the command reads the working directory where no path is given.
	Here bool
	// Check looks at what the options and classes cannot say; it returns why
	// the words are refused, or "".
	Check func(u *Use) string
	// Typed says that at a terminal the command runs what is typed into it.
	Typed bool
	// Env are variables that the command is run with, and Unset those it is run
	// without, so that the caller's environment does not change what it does.
	Env   map[string]string
	Unset []string
	// Pass and Refuse are command lines that the entry must and must not permit.
	Pass, Refuse []string

	options map[string]option
}

// Globs says which unquoted globs an entry allows.
type Globs uint8

// The zero value allows none.
const (
	GlobNone   Globs = iota // no glob
	GlobRooted              // only where the word begins with literal text that is no option: src/*.go
	GlobAny                 // any; run as ./* or after --
)

// Shows says which values may stand in the words of an entry that is Raw. Its
// Check sees a digit in their place.
type Shows uint8

// The zero value allows none.
const (
	ShowNone   Shows = iota
	ShowStatus       // $?, which is a number
	ShowValues       // what analysis.Shown lists: for commands that print any text
)

// Class says what the value of an option or operand is.
type Class uint8

// The classes of values.
const (
	ClassText Class = iota // text that the command only compares or prints
	ClassNum               // a number, with a unit perhaps
	ClassPath              // a file or directory that is read
	ClassDir               // a directory that is read
)

var classNames = map[string]Class{"TEXT": ClassText, "NUM": ClassNum, "PATH": ClassPath, "DIR": ClassDir}

type option struct {
	takes    bool // takes a value
	optional bool // only an attached one
	class    Class
}
