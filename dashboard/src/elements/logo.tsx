/** The product's sign and name. */
export function Logo() {
  return (
    <span class="logo">
      <svg viewBox="0 0 24 24" aria-hidden="true">
        <rect width="24" height="24" rx="6" />
        <path d="M6 18.5v-7a6 6 0 0 1 12 0v7M12 18.5v-6" />
      </svg>
      Model-Access Gateway
    </span>
  )
}
