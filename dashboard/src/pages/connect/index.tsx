import { askForAddress } from '../../data/address.ts'
import { useLoad } from '../../data/load.ts'
import { Snippet } from '../../elements/copy.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { Activity } from './activity.tsx'
import { Clients } from './clients.tsx'
import { Doubts } from './doubts.tsx'
import './connect.css'

/** How to add this gateway to a client, with recent connections and failed attempts. */
export function Page() {
  const loaded = useLoad('address', askForAddress)
  return (
    <>
      <div class="head">
        <h1>Connect</h1>
      </div>
      <WhenLoaded loaded={loaded} what="Loading the address">
        {(address) => (
          <>
            <section class="card">
              <h2>The address</h2>
              <p>
                Add this address to a client. The client opens a page of this gateway, where you
                sign in and set what it may spend. It needs no API key.
              </p>
              <Snippet text={address.tools} what="the address" />
              <Doubts address={address} />
            </section>
            <Activity />
            <Clients address={address} />
          </>
        )}
      </WhenLoaded>
    </>
  )
}
