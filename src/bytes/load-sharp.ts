/** Loads sharp on first use: it takes memory, and many gateways never convert a picture. */
export async function loadSharp() {
  const { default: sharp } = await import('sharp')
  // The cache of libvips would hold up to 50 MiB of pictures, of which none is read again.
  sharp.cache(false)
  return sharp
}
