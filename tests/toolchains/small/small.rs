// SPDX-License-Identifier: GPL-2.0-or-later
#![no_std]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
trait Shape {
    fn area(&self, scale: u64) -> u64;
}
struct Square<T>(T);
impl<T: Into<u64> + Copy> Shape for Square<T> {
    #[inline(never)]
    fn area(&self, scale: u64) -> u64 {
        let side: u64 = self.0.into();
        side.wrapping_mul(scale)
    }
}
#[no_mangle]
pub fn every(n: u32) -> u64 {
    Square(n).area(3).wrapping_add(Square(n as u8).area(5))
}
