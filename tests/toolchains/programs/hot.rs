// SPDX-License-Identifier: GPL-2.0-or-later
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

trait Shape {
    fn area(&self, scale: f64) -> f64;
}
struct Square<T>(T);
impl<T: Into<f64> + Copy> Shape for Square<T> {
    #[inline(never)]
    fn area(&self, scale: f64) -> f64 {
        let side: f64 = self.0.into();
        (0..1000)
            .map(|i| {
                let x = side * scale * i as f64;
                unsafe { std::ptr::read_volatile(&x) }
            })
            .sum()
    }
}

#[inline(never)]
fn all(list: &[Box<dyn Shape>]) -> f64 {
    list.iter().map(|s| s.area(3.0)).fold(0.0, |a, b| a + b)
}

#[inline(never)]
fn words(n: u64) -> usize {
    let mut map: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for i in 0..n {
        map.entry(format!("{}", i * 7919 % 101)).or_default().push(i);
    }
    map.values().map(|v| v.len()).max().unwrap_or(0)
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(0.6);
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let list: Vec<Box<dyn Shape>> = vec![Box::new(Square(1.5f64)), Box::new(Square(2u8))];
    let mut sum = 0.0;
    while Instant::now() < end {
        sum += all(&list) + words(500) as f64;
    }
    println!("{}", sum);
}
