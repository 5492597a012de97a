package analysis

// node is a piece of a script that can be written back as shell text.
type node interface {
	write(w *writer) bool
}

type callNode struct{ call *Call }

type listNode struct{ items []node }

type binaryNode struct {
	op   string
	x, y node
}

type groupNode struct {
	open, shut string
	list       node
}

type redirNode struct {
	of     node
	redirs []*Redir
}

type notNode struct{ of node }

type timeNode struct {
	of    node
	posix bool
}

type ifNode struct {
	conds, thens []node
	orElse       node
}
