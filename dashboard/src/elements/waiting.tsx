/** A loading message. CSS shows it after a short delay, which most requests do not reach. */
export function Waiting({ what = 'Loading' }: { what?: string }) {
  return (
    <p class="waiting" role="status">
      <span class="spinner" aria-hidden="true" />
      {what}…
    </p>
  )
}
