//! Tells public internet addresses from others, and describes the others.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A kind of address outside the public internet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Closed {
    /// The user may permit it: this machine, or a private network. The text follows "an address of".
    Local(&'static str),
    /// Never permitted: machines get credentials there, or it leads to no server.
    Never(&'static str),
}

const THIS_MACHINE: Closed = Closed::Local("this machine");
const PRIVATE: Closed = Closed::Local("a private network");
const SHARED: Closed = Closed::Local("a provider's shared network");
/// Some VPN programs resolve every name to such addresses.
const BENCHMARK: Closed = Closed::Local("a test network");
const METADATA: Closed = Closed::Never("a cloud's metadata service, which gives out credentials");
const LINK: Closed = Closed::Never("the local link, where clouds give out credentials");
const MULTICAST: Closed = Closed::Never("a multicast group");
const RESERVED: Closed = Closed::Never("a reserved network");
const TUNNEL: Closed = Closed::Never("a tunnel, whose end cannot be judged");

/// Services that hand out credentials at addresses that look private or public.
const METADATA_V4: [Ipv4Addr; 2] = [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(168, 63, 129, 16)];
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// The kind of an address; `None` for a public one. An IPv6 address that embeds an IPv4 address counts as that.
pub(crate) fn closed(address: IpAddr) -> Option<Closed> {
    match address {
        IpAddr::V4(address) => closed_v4(address),
        IpAddr::V6(address) => closed_v6(address),
    }
}

fn closed_v4(address: Ipv4Addr) -> Option<Closed> {
    if METADATA_V4.contains(&address) {
        return Some(METADATA);
    }
    Some(match address.octets() {
        [127, ..] => THIS_MACHINE,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => PRIVATE,
        [100, 64..=127, ..] => SHARED,
        [198, 18..=19, ..] => BENCHMARK,
        [169, 254, ..] => LINK,
        [224..=239, ..] => MULTICAST,
        [0 | 240..=255, ..] => RESERVED,
        [192, 0, 0 | 2, _] | [198, 51, 100, _] | [203, 0, 113, _] | [192, 88, 99, _] => RESERVED,
        _ => return None,
    })
}

fn closed_v6(address: Ipv6Addr) -> Option<Closed> {
    if address == METADATA_V6 {
        return Some(METADATA);
    }
    let v4 = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    Some(match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => THIS_MACHINE,
        [0, 0, 0, 0, 0, 0xffff, high, low] => return closed_v4(v4(high, low)),
        // Translated by a gateway (NAT64), and tunnelled (6to4).
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => return closed_v4(v4(high, low)),
        [0xfc00..=0xfdff, ..] => PRIVATE,
        [0xfe80..=0xfebf, ..] => LINK,
        [0xff00..=0xffff, ..] => MULTICAST,
        [0x2001, 0, ..] => TUNNEL,
        // For documentation, benchmarks and host identities that are not routed.
        [0x2001, 0xdb8 | 2 | 0x10..=0x3f, ..] | [0x3fff, 0..=0xfff, ..] => RESERVED,
        [0x2000..=0x3fff, ..] => return None,
        _ => RESERVED,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_is_not_the_open_internet_is_known_in_each_spelling() {
        for (text, expected) in [
            ("93.184.215.14", None),
            ("1.1.1.1", None),
            ("172.15.255.255", None),
            ("172.32.0.0", None),
            ("100.63.255.255", None),
            ("100.128.0.0", None),
            ("169.253.1.1", None),
            ("192.0.1.1", None),
            ("223.255.255.255", None),
            ("127.0.0.1", Some(THIS_MACHINE)),
            ("127.255.255.254", Some(THIS_MACHINE)),
            ("10.0.0.1", Some(PRIVATE)),
            ("172.16.0.1", Some(PRIVATE)),
            ("172.31.255.255", Some(PRIVATE)),
            ("192.168.1.1", Some(PRIVATE)),
            ("100.64.0.1", Some(SHARED)),
            ("100.127.255.255", Some(SHARED)),
            ("198.18.0.1", Some(BENCHMARK)),
            ("169.254.169.254", Some(LINK)),
            ("169.254.170.2", Some(LINK)),
            ("100.100.100.200", Some(METADATA)),
            ("168.63.129.16", Some(METADATA)),
            ("192.0.0.192", Some(RESERVED)),
            ("0.0.0.0", Some(RESERVED)),
            ("0.1.2.3", Some(RESERVED)),
            ("192.0.2.1", Some(RESERVED)),
            ("203.0.113.9", Some(RESERVED)),
            ("224.0.0.1", Some(MULTICAST)),
            ("239.255.255.250", Some(MULTICAST)),
            ("240.0.0.1", Some(RESERVED)),
            ("255.255.255.255", Some(RESERVED)),
            ("2606:4700:4700::1111", None),
            ("2a00:1450:4001::1", None),
            ("::1", Some(THIS_MACHINE)),
            ("::", Some(RESERVED)),
            ("::7f00:1", Some(RESERVED)),
            ("::ffff:127.0.0.1", Some(THIS_MACHINE)),
            ("::ffff:169.254.169.254", Some(LINK)),
            ("::ffff:10.0.0.1", Some(PRIVATE)),
            ("::ffff:1.1.1.1", None),
            ("64:ff9b::7f00:1", Some(THIS_MACHINE)),
            ("64:ff9b::a9fe:a9fe", Some(LINK)),
            ("64:ff9b::101:101", None),
            ("64:ff9b:1::1", Some(RESERVED)),
            ("2002:7f00:1::", Some(THIS_MACHINE)),
            ("2002:a9fe:a9fe::1", Some(LINK)),
            ("2001:0:7f00:1::", Some(TUNNEL)),
            ("fc00::1", Some(PRIVATE)),
            ("fd12:3456::1", Some(PRIVATE)),
            ("fd00:ec2::254", Some(METADATA)),
            ("fe80::1", Some(LINK)),
            ("febf::1", Some(LINK)),
            ("fec0::1", Some(RESERVED)),
            ("ff02::1", Some(MULTICAST)),
            ("2001:db8::1", Some(RESERVED)),
            ("3fff::1", Some(RESERVED)),
            ("100::1", Some(RESERVED)),
            ("4000::1", Some(RESERVED)),
        ] {
            assert_eq!(closed(text.parse().unwrap()), expected, "{text}");
        }
    }
}
