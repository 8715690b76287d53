/** A loading message. CSS shows the message after a short delay, before which most requests are answered. */
export function Waiting({ what = 'Loading' }: { what?: string }) {
  return (
    <p class="waiting" role="status">
      <span class="spinner" aria-hidden="true" />
      {what}…
    </p>
  )
}
