module sandboxd/packaging/release

go 1.26.0
