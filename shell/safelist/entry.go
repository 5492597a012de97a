package safelist

// Entry describes one command, or one sub-command ("git log").
type Entry struct {
	// Name is the command with its sub-command.
	Name string
	// Manual names the manual that the entry was reviewed against.
	Manual string
	// Options lists the harmless options, separated by blanks:
	//
	//	-i                       takes no value
	//	-e,--regexp=TEXT         takes a value of that class, attached or in the next word
	//	--color[=TEXT]           takes an optional value, attached only
	//	-NUM                     a number, as in head -5
	Options string
	// Never explains options that are refused: "-o,--output": "writes a file".
	Never map[string]string
	// Operands lists the classes of the operands; "..." repeats the last.
	Operands string
	// Least is the minimum number of operands.
	Least int
	// Unless lists options that replace the first operand: the pattern of grep, if -e gave it.
	Unless string
	// Globs selects the unquoted globs that are permitted as operands.
	Globs Globs
	// Shows selects the permitted values that are known only when the command runs.
	Shows Shows
	// Builtin is true if bash itself implements the command, so that no file is run.
	Builtin bool
	// Alias is true if the command is an alias of interactive shells and has no file.
	Alias bool
	// Raw is true if the command does not parse its options by getopt. Check then judges all
	// words, and adds the paths.
	Raw bool
	// Open is true if every option of the command only reads: words that are not known before it
	// runs can make it read other files, and nothing else.
	Open bool
	// Here is true if the command reads the working directory when no path is given.
	Here bool
	// Check judges properties that options and classes do not express. It returns the reason for a
	// refusal, or "".
	Check func(u *Use) string
	// Typed is true if the command executes text that is typed at a terminal.
	Typed bool
	// Env sets and Unset removes variables of the command, so that the caller's environment does
	// not change its behaviour.
	Env   map[string]string
	Unset []string
	// Pass and Refuse are command lines that the entry must and must not permit.
	Pass, Refuse []string

	options map[string]option
}

// Globs selects unquoted globs.
type Globs uint8

// The zero value permits none.
const (
	globNone   Globs = iota // no glob
	globRooted              // only if the word begins with literal text that is not an option: src/*.go
	globAny                 // any; the command runs with ./* or after --
)

// Shows selects unknown values in the words of a Raw entry. Check gets a digit in their place.
type Shows uint8

// The zero value permits none.
const (
	showNone   Shows = iota
	showStatus       // $?, which is a number
	showValues       // the values of analysis.Shown: for commands that print any text
)

// Class is the type of the value of an option or operand.
type Class uint8

// The classes of values.
const (
	ClassText Class = iota // text that the command only compares or prints
	ClassNum               // a number, possibly with a unit
	ClassPath              // a file or directory that is read
	ClassDir               // a directory that is read
)

var classNames = map[string]Class{"TEXT": ClassText, "NUM": ClassNum, "PATH": ClassPath, "DIR": ClassDir}

type option struct {
	takes    bool // takes a value
	optional bool // only if attached
	class    Class
}
