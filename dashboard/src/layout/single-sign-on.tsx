type Props = {
  label: string | null | undefined
  /** The page that opens after the sign-in; the current one by default. */
  returnTo?: string
}

/** The link to the OpenID provider; nothing without a provider. */
export function SingleSignOn({ label, returnTo }: Props) {
  if (typeof label !== 'string') return null
  const page = encodeURIComponent(returnTo ?? location.pathname + location.search)
  return (
    <a class="button single-sign-on" href={`/oauth/sign-in?return_to=${page}`}>
      {label}
    </a>
  )
}
