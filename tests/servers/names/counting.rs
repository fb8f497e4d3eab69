// SPDX-License-Identifier: Apache-2.0
// Counts for as many seconds as it is told, for the tests of names.
use std::collections::HashMap;
use std::time::Instant;

#[inline(always)]
fn scatter(n: u64) -> u64 {
    n.wrapping_mul(2654435761) % 1000
}

fn count(n: u64) -> u64 {
    let mut sums: HashMap<u64, u64> = HashMap::new();
    for i in 0..n {
        *sums.entry(scatter(i)).or_insert(0) += i;
    }
    let mut sorted: Vec<_> = sums.into_iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(&a.1));
    sorted.iter().map(|x| x.1).fold(0, |a, b| a ^ b)
}

fn main() {
    let seconds: u64 = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(1);
    let begin = Instant::now();
    let mut sum = 0;
    while begin.elapsed().as_secs() < seconds {
        sum ^= count(2000 + sum % 7);
    }
    println!("{}", sum);
}
