import type { Address } from '../../data/address.ts'

/** What may keep clients from the address, and which setting mends it. */
export function Doubts({ address }: { address: Address }) {
  const { origin, isHttps, isPublic, isElsewhere } = address
  if (isHttps && isPublic && !isElsewhere) return null
  return (
    <div class="doubts" role="note">
      {(!isHttps || !isPublic) && (
        <p>
          <strong>
            {isPublic
              ? 'This address is not https.'
              : 'This address cannot be reached from the internet.'}
          </strong>{' '}
          Claude on the web, in its desktop and phone apps, and ChatGPT call from the internet and
          will not find it; programs on this machine or in this network do. Put the gateway behind a
          proxy with TLS, set <code>BASE_URL</code> to its address, which begins with{' '}
          <code>https://</code>, and start the gateway again.
        </p>
      )}
      {isElsewhere && (
        <p>
          <strong>You have opened this page at another address.</strong> Clients compare addresses
          to the letter: use <code>{origin}</code>. If that is not right, set <code>BASE_URL</code>{' '}
          to how clients reach the gateway, and start it again.
        </p>
      )}
    </div>
  )
}
