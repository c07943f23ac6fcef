//! SHA-256 (FIPS 180-4). Some ten libraries would be built for it otherwise.

const BLOCK_BYTES: usize = 64;

/// The first 32 bits of the fractions of the cube roots of the first 64 primes.
const K: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

#[derive(Clone)]
pub struct Sha256 {
    state: [u32; 8],
    /// The beginning of a block.
    held: [u8; BLOCK_BYTES],
    bytes: u64,
}

impl Default for Sha256 {
    fn default() -> Sha256 {
        Sha256 {
            state: [
                0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
                0x5be0cd19,
            ],
            held: [0; BLOCK_BYTES],
            bytes: 0,
        }
    }
}

impl Sha256 {
    pub fn update(&mut self, mut bytes: &[u8]) {
        let held = self.bytes as usize % BLOCK_BYTES;
        self.bytes += bytes.len() as u64;
        if held > 0 {
            let (first, rest) = bytes.split_at(bytes.len().min(BLOCK_BYTES - held));
            self.held[held..held + first.len()].copy_from_slice(first);
            if held + first.len() < BLOCK_BYTES {
                return;
            }
            compress(&mut self.state, &self.held);
            bytes = rest;
        }
        let blocks = bytes.chunks_exact(BLOCK_BYTES);
        let rest = blocks.remainder();
        blocks.for_each(|block| compress(&mut self.state, block));
        self.held[..rest.len()].copy_from_slice(rest);
    }

    /// In hexadecimal digits.
    pub fn digits(mut self) -> String {
        let bits = self.bytes * 8;
        self.update(&[0x80]);
        while self.bytes as usize % BLOCK_BYTES != BLOCK_BYTES - 8 {
            self.update(&[0]);
        }
        self.update(&bits.to_be_bytes());
        self.state.iter().map(|word| format!("{word:08x}")).collect()
    }
}

fn compress(state: &mut [u32; 8], block: &[u8]) {
    let mut words = [0u32; 64];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    for i in 16..64 {
        let (early, late) = (words[i - 15], words[i - 2]);
        let early = early.rotate_right(7) ^ early.rotate_right(18) ^ early >> 3;
        let late = late.rotate_right(17) ^ late.rotate_right(19) ^ late >> 10;
        let sum = words[i - 16].wrapping_add(early).wrapping_add(words[i - 7]);
        words[i] = sum.wrapping_add(late);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (word, constant) in words.iter().zip(K) {
        let mixed = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let chosen = e & f ^ !e & g;
        let first = h.wrapping_add(mixed).wrapping_add(chosen);
        let first = first.wrapping_add(constant).wrapping_add(*word);
        let mixed = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let majority = a & b ^ a & c ^ b & c;
        (h, g, f, e) = (g, f, e, d.wrapping_add(first));
        (d, c, b, a) = (c, b, a, first.wrapping_add(mixed.wrapping_add(majority)));
    }
    for (word, new) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = word.wrapping_add(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::Digest;

    /// Of each length, in two pieces.
    #[test]
    fn hashes_are_those_of_a_library() {
        let mut random = fastrand::Rng::with_seed(1);
        let text: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(400).collect();
        for length in 0..text.len() {
            let (left, right) = text[..length].split_at(random.usize(..=length));
            let mut own = Sha256::default();
            own.update(left);
            own.update(right);
            let digest = sha2::Sha256::digest(&text[..length]);
            let theirs: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(own.digits(), theirs, "{length} bytes");
        }
    }
}
