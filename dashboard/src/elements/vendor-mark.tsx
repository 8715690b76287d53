/** Number of colours of series in `style/tokens.css` that a mark may have; the last one is grey. */
const tones = 7

/**
 * The mark of a provider beside its name: two letters of its id, in a colour of its own. Screen readers and
 * copied text have the name alone.
 */
export function VendorMark({ id }: { id: string }) {
  const [first = '', second] = id.split(/[-_]+/).filter(Boolean)
  const letters = second === undefined ? first.slice(0, 2) : first.slice(0, 1) + second.slice(0, 1)
  const tone =
    Array.from(id, (one) => one.charCodeAt(0)).reduce((sum, code) => (sum * 33 + code) % 9973, 0) %
    tones
  return (
    <span
      class="vendor-mark"
      data-letters={letters}
      style={{ '--tone': `var(--series-${tone})` }}
      aria-hidden="true"
    />
  )
}
