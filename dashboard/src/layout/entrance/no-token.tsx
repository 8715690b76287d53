import { addressOf } from '../../data/place.ts'

/** For an address of a one-time link that lost its token on the way. */
export function NoToken() {
  return (
    <>
      <p class="failure" role="alert">
        This address has no token. Open the whole link, as it was given to you.
      </p>
      <p>
        A link works once. If you have used yours, <a href={addressOf('/')}>sign in</a>.
      </p>
    </>
  )
}
