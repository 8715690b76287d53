/** Says that something is on its way, after a moment in which it mostly comes. */
export function Waiting({ what = 'Loading' }: { what?: string }) {
  return (
    <p class="waiting" role="status">
      <span class="spinner" aria-hidden="true" />
      {what}…
    </p>
  )
}
