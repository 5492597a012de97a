# rustc's own test harness with threads, and a program that it compiles.
cat > m.rs <<'T'
fn main() { println!("{}", (1..=6).product::<u64>()); }
#[test] fn threads() {
    let h: Vec<_> = (0..8u64).map(|i| std::thread::spawn(move || i * i)).collect();
    assert_eq!(h.into_iter().map(|h| h.join().unwrap()).sum::<u64>(), 140);
}
#[test] fn child() { assert!(std::process::Command::new("true").status().unwrap().success()); }
T
#run
rustc -O m.rs -o m && ./m && rustc --test m.rs -o t && ./t | grep -o '[0-9] passed'
