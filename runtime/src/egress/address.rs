//! Classification of IP addresses as public, after the IANA registries of special-purpose
//! addresses, and of ports, after the Fetch standard.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::LazyLock,
};

use ipnet::{Ipv4Net, Ipv6Net};

/// IPv4 networks outside the public internet.
const SPECIAL_V4: &[&str] = &[
    "0.0.0.0/8",        // this network
    "10.0.0.0/8",       // private
    "100.64.0.0/10",    // carrier-grade NAT
    "127.0.0.0/8",      // loopback
    "168.63.129.16/32", // the platform of Azure: DNS, health and secrets of the machine
    "169.254.0.0/16",   // link-local, cloud metadata
    "172.16.0.0/12",    // private
    "192.0.0.0/24",     // protocol assignments
    "192.0.2.0/24",     // documentation
    "192.88.99.0/24",   // 6to4 relays, deprecated
    "192.168.0.0/16",   // private
    "198.18.0.0/15",    // benchmarking
    "198.51.100.0/24",  // documentation
    "203.0.113.0/24",   // documentation
    "224.0.0.0/4",      // multicast
    "240.0.0.0/4",      // reserved, and broadcast
];

/// Special networks within the global unicast range; every address outside that range is refused.
const SPECIAL_V6: &[&str] = &[
    "2001::/23",     // protocol assignments: Teredo, ORCHID, benchmarking
    "2001:db8::/32", // documentation
    "2002::/16",     // 6to4: carries an IPv4 address
    "3fff::/20",     // documentation
];

/// Ports that browsers refuse, because another protocol could take a request for its own
/// (<https://fetch.spec.whatwg.org/#port-blocking>).
const OTHER_PROTOCOLS: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
];

const GLOBAL_UNICAST: &str = "2000::/3";
const NAT64: &str = "64:ff9b::/96";

struct Lists {
    v4: Vec<Ipv4Net>,
    v6: Vec<Ipv6Net>,
    global: Ipv6Net,
    nat64: Ipv6Net,
}

static LISTS: LazyLock<Lists> = LazyLock::new(|| {
    let v6 = |net: &str| net.parse().expect("the lists of this module are networks");
    Lists {
        v4: SPECIAL_V4
            .iter()
            .map(|net| net.parse().expect("the lists of this module are networks"))
            .collect(),
        v6: SPECIAL_V6.iter().map(|net| v6(net)).collect(),
        global: v6(GLOBAL_UNICAST),
        nat64: v6(NAT64),
    }
});

/// `true` if an address belongs to the public internet.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// `true` if a port belongs to a protocol other than HTTP.
pub(super) fn is_for_other_protocols(port: u16) -> bool {
    OTHER_PROTOCOLS.binary_search(&port).is_ok()
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !LISTS.v4.iter().any(|net| net.contains(&address))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if LISTS.nat64.contains(&address) {
        let [.., a, b, c, d] = address.octets();
        return is_public_v4(Ipv4Addr::new(a, b, c, d));
    }
    LISTS.global.contains(&address) && !LISTS.v6.iter().any(|net| net.contains(&address))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    fn special_addresses_are_not_public(
        #[values(
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.0.1",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "192.0.2.1",
            "198.18.0.1",
            "203.0.113.9",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::127.0.0.1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "3fff::1",
            "100::1"
        )]
        text: &str,
    ) {
        assert!(!is_public(text.parse().unwrap()), "{text}");
    }

    #[rstest]
    fn others_are_public(
        #[values(
            "8.8.8.8",
            "1.1.1.1",
            "100.63.255.255",
            "168.63.129.15",
            "168.63.129.17",
            "172.32.0.1",
            "192.167.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450:4001::1",
            "64:ff9b::808:808"
        )]
        text: &str,
    ) {
        assert!(is_public(text.parse().unwrap()), "{text}");
    }
}
