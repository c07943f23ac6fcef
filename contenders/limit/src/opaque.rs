//! Numbers that the compiler knows nothing of.

/// The same number. It costs nothing, but no computation of it can be left out or shared with another.
#[inline(always)]
#[allow(unsafe_code)]
pub fn opaque(mut number: u64) -> u64 {
    // SAFETY: there is no instruction in it.
    unsafe {
        std::arch::asm!("/* {0} */", inout(reg) number, options(nomem, nostack, preserves_flags))
    };
    number
}
