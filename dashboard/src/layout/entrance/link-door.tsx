import type { ComponentChildren } from 'preact'
import { oneTimeToken } from '../../data/one-time-token.ts'
import { addressOf } from '../../data/place.ts'
import { Door } from './frame.tsx'

type Props = { title: string; children: (token: string) => ComponentChildren }

/** The card for a one-time link; `children` renders its form with the token. */
export function LinkDoor({ title, children }: Props) {
  const token = oneTimeToken()
  return <Door title={title}>{token === undefined ? <NoToken /> : children(token)}</Door>
}

/** Shown for an address without a token. */
function NoToken() {
  return (
    <>
      <p class="failure" role="alert">
        This address has no token. Open the complete link that you received.
      </p>
      <p>
        A link works once. If you have used yours, <a href={addressOf('/')}>sign in</a>.
      </p>
    </>
  )
}
