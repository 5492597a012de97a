mkdir -p src && printf '[package]\nname = "m"\nversion = "0.1.0"\nedition = "2021"\n' > Cargo.toml && echo target > .gitignore
printf 'fn main() {\n    println!("hi");\n}\n' > src/main.rs; printf '#[test]\nfn parses() {}\n' > src/parse.rs
