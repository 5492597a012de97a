# A cargo crate whose test listens.
printf 'target\n' > .gitignore; mkdir -p src && printf '[package]\nname = "m"\nversion = "0.1.0"\nedition = "2021"\n' > Cargo.toml
cat > src/lib.rs <<'T'
#[test]
fn listens() {
    use std::io::{Read, Write};
    let l = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = l.local_addr().unwrap();
    std::thread::spawn(move || l.accept().unwrap().0.write_all(b"hi").unwrap());
    let mut s = String::new();
    std::net::TcpStream::connect(at).unwrap().read_to_string(&mut s).unwrap();
    assert_eq!(s, "hi");
}
T
#run
cargo test --offline 2>&1 | grep -o '1 passed' | head -1
